package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// The addresses inside of the cluster's namespaces. They do not exist on the host.
const (
	bridgeAddress  = "10.99.0.1"
	controlAddress = "10.99.0.10"
	nodeNetwork    = "10.99.0.0/24"
	podNetwork     = "10.244.0.0/16"
	serviceNetwork = "10.96.0.0/16"
	apiService     = "10.96.0.1"
	dnsService     = "10.96.0.10"
	apiPort        = 6443
	registryPort   = 5000

	maxNodes = 50
)

// node is one machine of the cluster: index 0 is the control plane.
type node struct {
	index int
}

func (n node) name() string {
	if n.index == 0 {
		return "control-plane"
	}
	return "node" + strconv.Itoa(n.index)
}

func (n node) isControlPlane() bool { return n.index == 0 }

func (n node) address() string { return fmt.Sprintf("10.99.0.%d", 10+n.index) }

// pods is the network of this node's pods.
func (n node) pods() string { return fmt.Sprintf("10.244.%d.0/24", n.index) }

// link is the name of the bridge's end of the node's network cable.
func (n node) link() string { return "to-" + strconv.Itoa(n.index) }

// nodes returns the control plane and `workers` nodes.
func nodes(workers int) []node {
	var all []node
	for index := range workers + 1 {
		all = append(all, node{index})
	}
	return all
}

func findNode(name string, workers int) (node, error) {
	for _, n := range nodes(workers) {
		if n.name() == name {
			return n, nil
		}
	}
	return node{}, fmt.Errorf("no node %q: there are control-plane and node1 to node%d", name, workers)
}

// places says where files are.
type places struct {
	// state has everything about the one cluster.
	state string
	// cache has the binaries, which the next cluster uses again.
	cache string
	// source is the folder of this program's source.
	source string
}

func findPlaces() (places, error) {
	source := os.Getenv("CLUSTER_SOURCE")
	if source == "" {
		return places{}, errors.New("CLUSTER_SOURCE is not set: run tests/tools/cluster/cluster, which sets it")
	}
	state, err := baseFolder("XDG_STATE_HOME", ".local/state")
	if err != nil {
		return places{}, err
	}
	cache, err := baseFolder("XDG_CACHE_HOME", ".cache")
	if err != nil {
		return places{}, err
	}
	return places{filepath.Join(state, "kbr-cluster"), filepath.Join(cache, "kbr-cluster"), source}, nil
}

// baseFolder returns a folder of the XDG base directory specification.
func baseFolder(variable, under string) (string, error) {
	if value := os.Getenv(variable); filepath.IsAbs(value) {
		return value, nil
	}
	home := os.Getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", fmt.Errorf("neither %s nor HOME is an absolute path: set one of them", variable)
	}
	return filepath.Join(home, under), nil
}

func (p places) lock() string       { return filepath.Join(p.state, "lock") }
func (p places) kubeconfig() string { return filepath.Join(p.state, "kubeconfig") }
func (p places) facts() string      { return filepath.Join(p.state, "running.json") }

// logs is kept when the cluster goes down, until the next one starts.
func (p places) logs(n node) string { return filepath.Join(p.state, "log", n.name()) }
func (p places) daemonLog() string  { return filepath.Join(p.state, "log", "daemon.log") }

// data is removed when the cluster goes down.
func (p places) data() string       { return filepath.Join(p.state, "data") }
func (p places) registry() string   { return filepath.Join(p.data(), "registry") }
func (p places) of(n node) string   { return filepath.Join(p.data(), n.name()) }
func (p places) root(n node) string { return filepath.Join(p.of(n), "root") }

// config is /etc/kubernetes on the node.
func (p places) config(n node) string { return filepath.Join(p.of(n), "config") }

// stopped exists while a node is to stay down.
func (p places) stopped(n node) string { return filepath.Join(p.of(n), "stopped") }

// group is the name of the cluster's control groups. It differs for each state folder.
func (p places) group() string {
	hash := fnv.New32a()
	hash.Write([]byte(p.state))
	return fmt.Sprintf("kbr-cluster-%08x", hash.Sum32())
}

// facts is what the daemon writes down for the other commands.
type facts struct {
	Daemon       int
	Workers      int
	API          int
	RegistryPort int
}

var errNotRunning = errors.New("the cluster does not run: `cluster up` starts it")

// running returns the facts about the running cluster.
func (p places) running() (facts, error) {
	var f facts
	held, err := p.isLocked()
	if err != nil {
		return f, err
	}
	if !held {
		return f, errNotRunning
	}
	text, err := os.ReadFile(p.facts())
	if errors.Is(err, os.ErrNotExist) {
		return f, errNotRunning
	}
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(text, &f)
}

// takeLock returns a file whose lock is held until all copies of it are closed, also those of
// child processes; nil if somebody else holds it.
func (p places) takeLock() (*os.File, error) {
	if err := os.MkdirAll(p.state, 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(p.lock(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return file, nil
	}
	file.Close()
	if err == syscall.EWOULDBLOCK {
		return nil, nil
	}
	return nil, fmt.Errorf("%s: %w", p.lock(), err)
}

func (p places) isLocked() (bool, error) {
	if _, err := os.Stat(p.lock()); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	file, err := p.takeLock()
	if file != nil {
		file.Close()
	}
	return file == nil, err
}
