package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"golang.org/x/sys/unix"
)

// initMain is pid 1 of the namespaces that are around all nodes.
func initMain(p places, args []string) error {
	workers, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	if err := joinGroup(p.group(), "outer"); err != nil {
		return err
	}
	// No mount made here is seen outside.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte("kbr-cluster")); err != nil {
		return err
	}
	if err := makeBridge(); err != nil {
		return err
	}

	api, err := listenerOf(3)
	if err != nil {
		return err
	}
	fromHost, err := listenerOf(4)
	if err != nil {
		return err
	}
	fromNodes, err := net.Listen("tcp4", net.JoinHostPort(bridgeAddress, strconv.Itoa(registryPort)))
	if err != nil {
		return err
	}
	failed := make(chan error)
	go func() { failed <- forward(api, net.JoinHostPort(controlAddress, strconv.Itoa(apiPort))) }()
	images := registry.New(
		registry.WithBlobHandler(registry.NewDiskBlobHandler(p.registry())),
		registry.Logger(log.New(io.Discard, "", 0)),
	)
	for _, listener := range []net.Listener{fromHost, fromNodes} {
		go func() { failed <- http.Serve(listener, images) }()
	}
	for _, n := range nodes(workers) {
		go keepNode(p, n, workers)
	}
	return <-failed
}

// listenerOf returns the listener that the daemon opened on the host.
func listenerOf(descriptor uintptr) (net.Listener, error) {
	file := os.NewFile(descriptor, "listener")
	defer file.Close()
	return net.FileListener(file)
}

// forward connects each connection to `listener` with `address`.
func forward(listener net.Listener, address string) error {
	for {
		from, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer from.Close()
			to, err := net.DialTimeout("tcp", address, 10*time.Second)
			if err != nil {
				return
			}
			defer to.Close()
			// One side may end before the other, as after the request of an upgraded connection.
			done := make(chan struct{})
			go func() {
				_, _ = io.Copy(to, from)
				_ = to.(*net.TCPConn).CloseWrite()
				close(done)
			}()
			_, _ = io.Copy(from, to)
			_ = from.(*net.TCPConn).CloseWrite()
			<-done
		}()
	}
}

// keepNode starts a node, and starts it again whenever it ends, unless it is to stay down.
func keepNode(p places, n node, workers int) {
	for ; ; time.Sleep(200 * time.Millisecond) {
		if _, err := os.Stat(p.stopped(n)); err == nil {
			continue
		}
		err := runNode(n, workers)
		fmt.Printf("%s %s ended: %v\n", time.Now().Format(time.RFC3339), n.name(), err)
	}
}

func runNode(n node, workers int) error {
	command := exec.Command(self, "node-setup", strconv.Itoa(n.index), strconv.Itoa(workers))
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
	}
	// The node waits for the end of its standard input, until its network cable is there.
	plugged, err := command.StdinPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	if err := plugIn(n, command.Process.Pid); err != nil {
		_ = command.Process.Kill()
		_ = command.Wait()
		return err
	}
	plugged.Close()
	return command.Wait()
}
