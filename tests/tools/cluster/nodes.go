package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func architecture() string { return runtime.GOARCH }

// hostPID returns the pid, as the host sees it, of a node's pid 1 or of init; 0 if it does not run.
func hostPID(p places, group string) (int, error) {
	found, err := hierarchies()
	if err != nil {
		return 0, err
	}
	for _, h := range found {
		folder := filepath.Join(h.folder, p.group(), group)
		// In version 2, the processes of the node are in a group of their own.
		for _, pid := range append(processes(folder), processes(filepath.Join(folder, "init"))...) {
			if isFirst(pid) {
				return pid, nil
			}
		}
	}
	return 0, nil
}

// isFirst says whether a process is number 1 in its own pid namespace.
func isFirst(pid int) bool {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	for line := range strings.Lines(string(text)) {
		if after, ok := strings.CutPrefix(line, "NSpid:"); ok {
			numbers := strings.Fields(after)
			return len(numbers) > 1 && numbers[len(numbers)-1] == "1"
		}
	}
	return false
}

// find returns a node of the running cluster, and its pid 1, which is 0 if it is down.
func find(p places, name string) (node, int, error) {
	if os.Geteuid() != 0 {
		return node{}, 0, errors.New("only root can reach into a node")
	}
	f, err := p.running()
	if err != nil {
		return node{}, 0, err
	}
	n, err := findNode(name, f.Workers)
	if err != nil {
		return n, 0, err
	}
	pid, err := hostPID(p, n.name())
	return n, pid, err
}

func errDown(n node) error {
	return fmt.Errorf("%s is down: `cluster node start %s` starts it", n.name(), n.name())
}

// execute replaces this process by a command on a node.
func execute(p places, name string, command []string) error {
	n, pid, err := find(p, name)
	if err != nil {
		return err
	}
	if pid == 0 {
		return errDown(n)
	}
	nsenter, err := exec.LookPath("nsenter")
	if err != nil {
		return err
	}
	args := append([]string{"nsenter", "--target", strconv.Itoa(pid), "--mount", "--uts", "--ipc", "--net", "--pid",
		"--cgroup", "--root", "--"}, command...)
	environment := []string{
		"PATH=" + nodePath + ":" + cacheOnNode + "/bin", "HOME=/root", "TERM=" + os.Getenv("TERM"), "LANG=C.UTF-8",
	}
	return syscall.Exec(nsenter, args, environment)
}

func nodeCommand(p places, action, name string) error {
	n, pid, err := find(p, name)
	if err != nil {
		return err
	}
	switch action {
	case "start":
		if err := removeIfThere(p.stopped(n)); err != nil {
			return err
		}
		return nil
	case "kill":
		if err := writeFile(p.stopped(n), nil, 0o644); err != nil {
			return err
		}
		if pid == 0 {
			return nil
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return err
		}
		// A frozen process does not end before it is thawed.
		if err := freezeGroup(p.group(), n.name(), false); err != nil {
			return err
		}
		return waitForEnd(pid)
	case "freeze", "thaw":
		if pid == 0 {
			return errDown(n)
		}
		return freezeGroup(p.group(), n.name(), action == "freeze")
	case "partition", "heal":
		return setCable(p, n, action == "heal")
	}
	return usageError(fmt.Sprintf("a node cannot %q", action))
}

func waitForEnd(pid int) error {
	for range 600 {
		if !isFirst(pid) {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("process %d does not end", pid)
}

// setCable connects the node's network cable with the bridge, or disconnects it.
func setCable(p places, n node, connected bool) error {
	pid, err := hostPID(p, "outer")
	if err != nil {
		return err
	}
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return err
	}
	defer namespace.Close()
	// For this thread, which is the main thread of a process that ends next.
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		return err
	}
	link, err := netlink.LinkByName(n.link())
	if err != nil {
		return err
	}
	if connected {
		return netlink.LinkSetUp(link)
	}
	return netlink.LinkSetDown(link)
}

// status prints what runs.
func status(p places) error {
	f, err := p.running()
	if err != nil {
		return err
	}
	fmt.Printf("The cluster runs: daemon %d, API server at 127.0.0.1:%d, registry at 127.0.0.1:%d, logs in %s\n",
		f.Daemon, f.API, f.RegistryPort, filepath.Dir(p.daemonLog()))
	for _, n := range nodes(f.Workers) {
		pid, err := hostPID(p, n.name())
		if err != nil {
			return err
		}
		state := fmt.Sprintf("pid %d", pid)
		if pid == 0 {
			state = "down"
		}
		fmt.Printf("%-15s %-12s %s\n", n.name(), n.address(), state)
	}
	return nil
}
