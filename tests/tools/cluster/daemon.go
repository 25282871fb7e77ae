package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// self is this program, also after its file was replaced.
const self = "/proc/self/exe"

// startDaemon starts the processes of the cluster, which end as soon as the returned file is
// closed, unless `keep` was written to it. The daemon inherits the lock.
func startDaemon(p places, workers int, lock *os.File) (*os.File, error) {
	log, err := os.OpenFile(p.daemonLog(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	command := exec.Command(self, "daemon", strconv.Itoa(workers))
	command.Stdin, command.Stdout, command.Stderr = theirs, log, log
	command.ExtraFiles = []*os.File{lock}
	command.Dir = "/"
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		ours.Close()
		return nil, err
	}
	// Reaped here if it ends before this process does.
	go func() { _ = command.Wait() }()
	return ours, nil
}

const keep = "keep\n"

func daemon(p places, args []string) error {
	workers, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	lock := os.NewFile(3, "lock")
	syscall.CloseOnExec(3)

	// The watcher sees the end of this process as the end of this pipe, however it ends.
	theirs, ours, err := os.Pipe()
	if err != nil {
		return err
	}
	watcher := exec.Command(self, "watch")
	watcher.Stdin, watcher.Stdout, watcher.Stderr = theirs, os.Stdout, os.Stderr
	watcher.ExtraFiles = []*os.File{lock}
	watcher.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := watcher.Start(); err != nil {
		return err
	}
	theirs.Close()
	defer ours.Close()

	if err := createGroups(p.group(), groupNames(workers)); err != nil {
		return err
	}

	// A socket stays in the network namespace in which it was made: these two are on the host, and
	// init, which inherits them, has the other ends of their connections in the cluster's namespace.
	listeners := make([]*os.File, 2)
	ports := make([]int, 2)
	for i := range listeners {
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return err
		}
		ports[i] = listener.Addr().(*net.TCPAddr).Port
		if listeners[i], err = listener.(*net.TCPListener).File(); err != nil {
			return err
		}
		listener.Close()
	}
	command := exec.Command(self, "init", strconv.Itoa(workers))
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.ExtraFiles = listeners
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
		// The end of pid 1 is the end of every process in its namespace.
		Pdeathsig: syscall.SIGKILL,
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("cannot make namespaces: %w", err)
	}
	for _, file := range listeners {
		file.Close()
	}
	text, err := json.Marshal(facts{os.Getpid(), workers, ports[0], ports[1]})
	if err != nil {
		return err
	}
	if err := writeFile(p.facts(), text, 0o644); err != nil {
		return err
	}

	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	abandoned := make(chan struct{})
	go func() {
		line, _ := bufio.NewReader(os.Stdin).ReadString('\n')
		if line != keep {
			close(abandoned)
		}
	}()
	select {
	case err := <-ended:
		return fmt.Errorf("init ended: %w", err)
	case <-abandoned:
		return errors.New("`cluster up` ended before the cluster was ready")
	}
}

func groupNames(workers int) []string {
	names := []string{"outer"}
	for _, n := range nodes(workers) {
		names = append(names, n.name())
	}
	return names
}

// watch waits for the end of the daemon, which holds the other end of standard input.
func watch(p places) error {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return clean(p)
}

// clean removes what a cluster leaves behind when its daemon has ended: its processes end by
// themselves, its mounts and network interfaces with them. It needs the lock.
func clean(p places) error {
	if err := removeGroups(p.group()); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(p.data()), removeIfThere(p.kubeconfig()), removeIfThere(p.facts()))
}

func removeIfThere(path string) error {
	err := os.Remove(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func down(p places) error {
	if os.Geteuid() != 0 {
		return errors.New("only root can stop the cluster")
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		lock, err := p.takeLock()
		if err != nil {
			return err
		}
		if lock != nil {
			defer lock.Close()
			// The watcher has done this, unless it was killed too.
			return clean(p)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the cluster does not end; %s may say why", p.daemonLog())
		}
		if f, err := p.running(); err == nil && isDaemon(f.Daemon) {
			_ = syscall.Kill(f.Daemon, syscall.SIGTERM)
		}
	}
}

// isDaemon protects a process that got the daemon's pid after its end.
func isDaemon(pid int) bool {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	words := strings.Split(string(text), "\x00")
	return len(words) > 1 && words[1] == "daemon"
}

// writeFile writes a file as a whole: who reads it never sees half of it.
func writeFile(path string, text []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temporary := path + ".new"
	if err := os.WriteFile(temporary, text, mode); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
