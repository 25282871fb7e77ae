package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Where a node finds the cache with the binaries.
const cacheOnNode = "/opt/kbr-cluster"

// nodeSetup is the first program of a node's pid 1: it makes the node's own view of the machine,
// and continues as node-run.
func nodeSetup(p places, args []string) error {
	n, workers, err := parseNode(args)
	if err != nil {
		return err
	}
	// Until init has plugged in the network cable.
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	found, err := hierarchies()
	if err != nil {
		return err
	}
	// Those of a node that was killed are still there, and in version 2 nobody can join them again.
	if err := removeGroups(filepath.Join(p.group(), n.name())); err != nil {
		return err
	}
	if err := createGroups(p.group(), []string{n.name()}); err != nil {
		return err
	}
	if err := joinGroup(p.group(), n.name()); err != nil {
		return err
	}
	// It holds for this thread only, and for all of the program that it continues as.
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("unshare the cgroup namespace: %w", err)
	}
	if err := unix.Sethostname([]byte(n.name())); err != nil {
		return err
	}
	if err := makeRoot(p, n, found); err != nil {
		return err
	}
	if err := enterRoot(p.root(n)); err != nil {
		return err
	}
	if err := configureNetwork(n, workers); err != nil {
		return err
	}
	if err := protectKernel(); err != nil {
		return err
	}
	// Volumes that are mounted from now on are seen in the containers that ask for it.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		return err
	}
	environment := []string{"PATH=" + nodePath, "HOME=/root", "LANG=C.UTF-8"}
	return syscall.Exec(self, append([]string{"cluster", "node-run"}, args...), environment)
}

const nodePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func parseNode(args []string) (n node, workers int, err error) {
	if n.index, err = strconv.Atoi(args[0]); err != nil {
		return
	}
	workers, err = strconv.Atoi(args[1])
	return
}

// makeRoot builds the node's root folder: programs and libraries of the host, read-only; folders of
// its own below the cluster's state; everything else empty and in memory.
func makeRoot(p places, n node, found []hierarchy) error {
	root := p.root(n)
	in := func(path string) string { return filepath.Join(root, path) }
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("root", root, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for _, folder := range []string{"etc", "proc", "sys", "dev", "run", "tmp", "root", "mnt", "var/tmp", "var/lib/cni", "etc/cni"} {
		if err := os.MkdirAll(in(folder), 0o755); err != nil {
			return err
		}
	}
	if err := os.Chmod(in("tmp"), 0o1777); err != nil {
		return err
	}
	if err := os.Symlink("/run", in("var/run")); err != nil {
		return err
	}

	shared := []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}
	// What commands of the node read there; the rest of /etc is not the node's business.
	for _, name := range []string{"alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "passwd", "group",
		"nsswitch.conf", "protocols", "services", "ethertypes", "iproute2"} {
		shared = append(shared, "/etc/"+name)
	}
	for _, path := range shared {
		if err := share(path, in(path), true); err != nil {
			return err
		}
	}
	if err := share(p.cache, in(cacheOnNode), true); err != nil {
		return err
	}
	if err := share(p.config(n), in("/etc/kubernetes"), true); err != nil {
		return err
	}
	for _, folder := range []string{"containerd", "kubelet", "etcd"} {
		own := filepath.Join(p.of(n), folder)
		if err := os.MkdirAll(own, 0o755); err != nil {
			return err
		}
		if err := share(own, in("/var/lib/"+folder), false); err != nil {
			return err
		}
	}
	if err := share(p.logs(n), in("/var/log"), false); err != nil {
		return err
	}
	for path, text := range map[string]string{
		"/etc/hostname":    n.name() + "\n",
		"/etc/hosts":       "127.0.0.1 localhost\n" + n.address() + " " + n.name() + "\n",
		"/etc/resolv.conf": "nameserver " + dnsService + "\n",
		// Nodes with the same one look like the same machine.
		"/etc/machine-id": fmt.Sprintf("%032x\n", n.index+1),
	} {
		if err := os.WriteFile(in(path), []byte(text), 0o644); err != nil {
			return err
		}
	}

	if err := unix.Mount("proc", in("proc"), "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	if err := unix.Mount("sysfs", in("sys"), "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	if err := makeReadOnly(in("sys")); err != nil {
		return err
	}
	if err := mountGroups(in("sys/fs/cgroup"), found); err != nil {
		return err
	}
	return makeDevices(in)
}

// share makes a file or a folder of the host visible on the node. What the host does not have, the
// node does not have either, and a link stays one.
func share(from, to string, readOnly bool) error {
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	if info.IsDir() {
		err = os.MkdirAll(to, 0o755)
	} else {
		err = os.WriteFile(to, nil, 0o644)
	}
	if err != nil {
		return err
	}
	if err := unix.Mount(from, to, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s: %w", from, err)
	}
	if !readOnly {
		return nil
	}
	return makeReadOnly(to)
}

// makeReadOnly keeps the other flags of the mount, which may not be dropped.
func makeReadOnly(path string) error {
	attributes := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, path, 0, &attributes); err != nil {
		return fmt.Errorf("make %s read-only: %w", path, err)
	}
	return nil
}

// makeDevices makes a /dev with what containers may use, and /dev/kmsg, in which the kubelet looks
// for processes that were killed for their memory.
func makeDevices(in func(string) string) error {
	if err := unix.Mount("dev", in("dev"), "tmpfs", unix.MS_NOSUID, "mode=755"); err != nil {
		return err
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty", "kmsg", "fuse"} {
		if err := share("/dev/"+name, in("dev/"+name), false); err != nil {
			return err
		}
	}
	for _, m := range []struct{ kind, folder, options string }{
		{"devpts", "dev/pts", "newinstance,ptmxmode=0666,mode=620,gid=5"},
		{"tmpfs", "dev/shm", "mode=1777"},
		{"mqueue", "dev/mqueue", ""},
	} {
		if err := os.Mkdir(in(m.folder), 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, in(m.folder), m.kind, unix.MS_NOSUID|unix.MS_NOEXEC, m.options); err != nil {
			return fmt.Errorf("mount %s: %w", m.folder, err)
		}
	}
	for path, target := range map[string]string{
		"dev/ptmx": "pts/ptmx", "dev/fd": "/proc/self/fd", "dev/stdin": "/proc/self/fd/0",
		"dev/stdout": "/proc/self/fd/1", "dev/stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(target, in(path)); err != nil {
			return err
		}
	}
	return nil
}

// enterRoot makes `root` the root folder and lets go of the host's.
func enterRoot(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	// With the same folder twice, the old root is mounted on top of the new one.
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return err
	}
	return os.Chdir("/")
}

// machineWide are the settings that the kubelet changes unless they are as it wants them. They
// belong to no namespace: the node gets files with these values in their place.
// Source: setupKernelTunables in pkg/kubelet/cm/container_manager_linux.go of Kubernetes.
var machineWide = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// protectKernel lets the node change no setting of the kernel but those of its own network.
func protectKernel() error {
	const folder = "/proc/sys"
	if err := unix.Mount(folder, folder, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	if err := unix.Mount(folder+"/net", folder+"/net", "", unix.MS_BIND, ""); err != nil {
		return err
	}
	for name, value := range machineWide {
		if _, err := os.Stat(filepath.Join(folder, name)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		own := filepath.Join("/run/sysctl", name)
		if err := os.MkdirAll(filepath.Dir(own), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(own, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := unix.Mount(own, filepath.Join(folder, name), "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind %s: %w", name, err)
		}
	}
	return makeReadOnly(folder)
}

// process is one that runs on a node.
type process struct {
	name string
	args []string
}

// nodeRun is pid 1 of a node: it starts the node's processes, starts them again when they end, and
// reaps those whose parent has ended.
func nodeRun(args []string) error {
	n, _, err := parseNode(args)
	if err != nil {
		return err
	}
	all := workerProcesses(n)
	if n.isControlPlane() {
		all = controlPlaneProcesses(n)
	}
	start := make(chan process, len(all))
	for _, one := range all {
		start <- one
	}
	ended := make(chan int)
	go func() {
		for {
			pid, err := syscall.Wait4(-1, nil, 0, nil)
			if err != nil {
				// No child at the moment.
				time.Sleep(100 * time.Millisecond)
				continue
			}
			ended <- pid
		}
	}()
	running := map[int]process{}
	// A child may have been reaped before its pid is known here: the loop does one thing at a time,
	// and takes an end only after the start is recorded.
	for {
		select {
		case one := <-start:
			pid, err := spawn(one)
			if err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
			running[pid] = one
		case pid := <-ended:
			one, known := running[pid]
			if !known {
				continue
			}
			delete(running, pid)
			time.AfterFunc(time.Second, func() { start <- one })
		}
	}
}

// spawn starts a process whose output goes to its log.
func spawn(one process) (int, error) {
	log, err := os.OpenFile("/var/log/"+one.name+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		return 0, err
	}
	defer nothing.Close()
	path := one.args[0]
	// Containerd finds its shim next to itself only in PATH.
	environment := []string{"HOME=/root", "PATH=" + nodePath + ":" + filepath.Dir(path)}
	fmt.Fprintf(log, "+ %s\n", strings.Join(one.args, " "))
	return syscall.ForkExec(path, one.args, &syscall.ProcAttr{
		Dir:   "/",
		Env:   environment,
		Files: []uintptr{nothing.Fd(), log.Fd(), log.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
}
