package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// What a node needs of the host, and the Debian package that has it.
var tools = []struct{ path, debianPackage string }{
	{"/usr/sbin/runc", "runc"},
	{"/usr/lib/cni/ptp", "containernetworking-plugins"},
	{"/usr/sbin/nft", "nftables"},
	{"/usr/sbin/iptables", "iptables"},
	{"/usr/sbin/ipset", "ipset"},
	{"/usr/bin/mount", "mount"},
	{"/usr/bin/nsenter", "util-linux"},
}

// check refuses to start where a cluster cannot run.
func check(p places, install bool) error {
	if os.Geteuid() != 0 {
		return errors.New("only root can make the namespaces of a cluster: run this as root, such as in a virtual machine")
	}
	if _, err := hierarchies(); err != nil {
		return err
	}
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("no `go` in PATH: install Go 1.26 or newer, which builds the cluster's programs")
	}
	if err := checkTools(install); err != nil {
		return err
	}
	return checkOverlay(p)
}

func checkTools(install bool) error {
	missing := missingPackages()
	if len(missing) == 0 {
		return nil
	}
	args := append([]string{"install", "--yes", "--no-install-recommends"}, missing...)
	line := "apt-get " + strings.Join(args, " ")
	if !install {
		return fmt.Errorf("missing Debian packages; `cluster up --install` installs them, or type: apt-get update && %s", line)
	}
	say("installing %s", strings.Join(missing, ", "))
	for _, args := range [][]string{{"update"}, args} {
		command := exec.Command("apt-get", args...)
		command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w\n%s", strings.Join(args, " "), err, output)
		}
	}
	if missing := missingPackages(); len(missing) > 0 {
		return fmt.Errorf("%s installed, but their files are not where Debian has them", strings.Join(missing, ", "))
	}
	return nil
}

func missingPackages() []string {
	var missing []string
	for _, tool := range tools {
		if _, err := os.Stat(tool.path); err != nil {
			missing = append(missing, tool.debianPackage)
		}
	}
	return missing
}

// checkOverlay mounts an overlay where containers will have theirs.
func checkOverlay(p places) error {
	if err := os.MkdirAll(p.state, 0o755); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(p.state, "overlay-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	var options []string
	for _, name := range []string{"lowerdir", "upperdir", "workdir"} {
		path := filepath.Join(folder, name)
		if err := os.Mkdir(path, 0o755); err != nil {
			return err
		}
		options = append(options, name+"="+path)
	}
	// Not attached anywhere: it is gone when its descriptor is closed.
	context, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err == nil {
		defer unix.Close(context)
		for _, option := range options {
			name, value, _ := strings.Cut(option, "=")
			if err == nil {
				err = unix.FsconfigSetString(context, name, value)
			}
		}
	}
	if err == nil {
		err = unix.FsconfigCreate(context)
	}
	if err != nil {
		return fmt.Errorf("containers cannot have an overlay file system in %s: %w; "+
			"set XDG_STATE_HOME to a folder on ext4 or xfs", p.state, err)
	}
	return nil
}
