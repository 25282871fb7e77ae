package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const cgroupMount = "/sys/fs/cgroup"

// hierarchy is one tree of control groups: the only one of version 2, or one of several of version 1.
type hierarchy struct {
	// folder is its mount point on the host.
	folder string
	// controllers are what `mount -o` needs; empty for version 2.
	controllers []string
}

// needed are the controllers that the kubelet and runc cannot do without.
var (
	neededV1 = []string{"cpu", "cpuacct", "cpuset", "devices", "freezer", "memory", "pids"}
	neededV2 = []string{"cpu", "cpuset", "io", "memory", "pids"}
)

// isV2 says whether this machine has control groups of version 2 only.
func isV2() bool {
	var info unix.Statfs_t
	err := unix.Statfs(cgroupMount, &info)
	return err == nil && info.Type == unix.CGROUP2_SUPER_MAGIC
}

// hierarchies returns what is mounted, or says what is missing.
func hierarchies() ([]hierarchy, error) {
	if isV2() {
		text, err := os.ReadFile(filepath.Join(cgroupMount, "cgroup.controllers"))
		if err != nil {
			return nil, err
		}
		if err := lacking(neededV2, strings.Fields(string(text))); err != nil {
			return nil, err
		}
		return []hierarchy{{folder: cgroupMount}}, nil
	}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var found []hierarchy
	var all []string
	for line := range strings.Lines(string(text)) {
		before, after, _ := strings.Cut(line, " - ")
		fields, super := strings.Fields(before), strings.Fields(after)
		if len(fields) < 5 || len(super) < 3 || super[0] != "cgroup" {
			continue
		}
		var controllers []string
		for option := range strings.SplitSeq(super[2], ",") {
			if strings.HasPrefix(option, "name=") || isController(option) {
				controllers = append(controllers, option)
			}
		}
		if len(controllers) == 0 || slices.Contains(all, controllers[0]) {
			continue
		}
		all = append(all, controllers...)
		found = append(found, hierarchy{fields[4], controllers})
	}
	return found, lacking(neededV1, all)
}

func isController(option string) bool {
	others := []string{"net_cls", "net_prio", "blkio", "perf_event", "hugetlb", "rdma", "misc"}
	return slices.Contains(neededV1, option) || slices.Contains(others, option)
}

func lacking(needed, found []string) error {
	var missing []string
	for _, name := range needed {
		if !slices.Contains(found, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("this machine has no cgroup controllers %s below %s, which pods need: run this where they are "+
		"mounted and writable, such as in a virtual machine", strings.Join(missing, ", "), cgroupMount)
}

// createGroups makes the cluster's groups: one for the cluster, and in it one for each of `names`.
func createGroups(cluster string, names []string) error {
	found, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range found {
		top := filepath.Join(h.folder, cluster)
		folders := []string{top}
		for _, name := range names {
			folders = append(folders, filepath.Join(top, name))
		}
		for _, folder := range folders {
			if err := os.Mkdir(folder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			if err := h.delegate(filepath.Dir(folder), folder); err != nil {
				return err
			}
		}
	}
	return nil
}

// delegate gives a new group what it needs from its parent.
func (h hierarchy) delegate(parent, folder string) error {
	if len(h.controllers) == 0 {
		return enableControllers(parent)
	}
	if !slices.Contains(h.controllers, "cpuset") {
		return nil
	}
	// No process may join a group without processors and memory nodes, which a new one does not have.
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		value, err := os.ReadFile(filepath.Join(parent, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name), value, 0); err != nil {
			return err
		}
	}
	return nil
}

// enableControllers lets the groups in `folder` limit what neededV2 has.
func enableControllers(folder string) error {
	text := "+" + strings.Join(neededV2, " +")
	return os.WriteFile(filepath.Join(folder, "cgroup.subtree_control"), []byte(text), 0)
}

// joinGroup moves this process to a group of the cluster.
func joinGroup(cluster, name string) error {
	found, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range found {
		procs := filepath.Join(h.folder, cluster, name, "cgroup.procs")
		if err := os.WriteFile(procs, []byte("0"), 0); err != nil {
			return err
		}
	}
	return nil
}

// mountGroups mounts at `target` what this machine has, so that the group of this process is its root.
func mountGroups(target string, found []hierarchy) error {
	if len(found) == 1 && len(found[0].controllers) == 0 {
		if err := unix.Mount("cgroup2", target, "cgroup2", 0, ""); err != nil {
			return fmt.Errorf("mount cgroup2: %w", err)
		}
		// A group that gives controllers to others may not have processes itself.
		own := filepath.Join(target, "init")
		if err := os.Mkdir(own, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := os.WriteFile(filepath.Join(own, "cgroup.procs"), []byte("0"), 0); err != nil {
			return err
		}
		return enableControllers(target)
	}
	if err := unix.Mount("cgroup", target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=755"); err != nil {
		return err
	}
	for _, h := range found {
		options := strings.Join(h.controllers, ",")
		folder := filepath.Join(target, strings.TrimPrefix(options, "name="))
		if strings.HasPrefix(options, "name=") {
			options = "none," + options
		}
		if err := os.Mkdir(folder, 0o755); err != nil {
			return err
		}
		if err := unix.Mount("cgroup", folder, "cgroup", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, options); err != nil {
			return fmt.Errorf("mount -t cgroup -o %s: %w", options, err)
		}
		for _, name := range h.controllers {
			if len(h.controllers) > 1 {
				if err := os.Symlink(filepath.Base(folder), filepath.Join(target, name)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// setFrozen stops or continues all processes of a group of the cluster and those below it.
func setFrozen(folder string, h hierarchy, frozen bool) error {
	name, value := "cgroup.freeze", "0"
	switch {
	case len(h.controllers) > 0 && !slices.Contains(h.controllers, "freezer"):
		return nil
	case len(h.controllers) > 0 && frozen:
		name, value = "freezer.state", "FROZEN"
	case len(h.controllers) > 0:
		name, value = "freezer.state", "THAWED"
	case frozen:
		value = "1"
	}
	return os.WriteFile(filepath.Join(folder, name), []byte(value), 0)
}

// freezeGroup is setFrozen for the group of a node.
func freezeGroup(cluster, name string, frozen bool) error {
	found, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range found {
		if err := setFrozen(filepath.Join(h.folder, cluster, name), h, frozen); err != nil {
			return err
		}
	}
	return nil
}

// removeGroups kills every process in a group and those below it, and removes them.
func removeGroups(group string) error {
	found, err := hierarchies()
	if err != nil {
		return err
	}
	var last error
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		last = nil
		for _, h := range found {
			if err := h.remove(filepath.Join(h.folder, group)); err != nil {
				last = err
			}
		}
		if last == nil {
			return nil
		}
	}
	return fmt.Errorf("cannot remove the control groups: %w", last)
}

func (h hierarchy) remove(top string) error {
	var folders []string
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, folder := range folders {
		// Frozen processes do not end, not even when they are killed.
		if err := setFrozen(folder, h, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, folder := range slices.Backward(folders) {
		for _, pid := range processes(folder) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err := os.Remove(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// processes returns the processes that are in a group itself, not in those below it.
func processes(folder string) []int {
	text, _ := os.ReadFile(filepath.Join(folder, "cgroup.procs"))
	var pids []int
	for word := range strings.FieldsSeq(string(text)) {
		if pid, err := strconv.Atoi(word); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}
