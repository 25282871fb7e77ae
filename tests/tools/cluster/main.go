// Command cluster runs a Kubernetes cluster on this machine, without Docker and without a
// registry on the internet; see README.md.
//
// The processes, each with the one below it as its child:
//
//	up       asks for what is missing, builds the binaries, starts the daemon, and ends once the cluster is ready
//	daemon   on the host: opens the ports on 127.0.0.1, and waits; when it ends, everything below it ends
//	init     pid 1 of namespaces of its own: the bridge between the nodes, the registry, the nodes
//	node     pid 1 of a node's namespaces: starts that node's processes, and starts them again when they end
//
// Beside the daemon runs watch, which waits for the end of the daemon and removes what it leaves.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
)

const usage = `Usage: cluster COMMAND

  up [--nodes N] [--cert-manager] [--prometheus] [--install]
          starts a cluster with one control plane and N nodes (3); --cert-manager also deploys
          cert-manager, --prometheus also Prometheus, kube-state-metrics and metrics-server; --install installs
          missing Debian packages
  build [--cert-manager] [--prometheus]
          builds what up would build, and starts nothing
  down    stops it and removes everything but the binaries and the logs
  status  says whether it runs, and what runs on each node
  kubeconfig
          prints the path of the kubeconfig
  load NAME BINARY[=PATH]...
          makes an image of binaries and the libraries that they need, which pods get as NAME;
          the first is its entry point; PATH is where it is in the image (/BINARY)
  load NAME --archive TAR
          the same with an image that docker save or buildah push docker-archive: wrote
  exec NODE -- COMMAND...
          runs a command on a node: control-plane, node1, node2...
  node freeze|thaw|kill|start|partition|heal NODE
          stops all processes of a node and lets them go on; kills it as a power failure would,
          and starts it again; cuts it from the network, and connects it again
`

// The main goroutine stays on the main thread: the kernel sends the signal of a parent's death
// when the *thread* ends that started the child, and some namespaces belong to a thread.
func init() {
	runtime.LockOSThread()
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		var usage usageError
		if errors.As(err, &usage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

// usageError is a mistake in the command line.
type usageError string

func (e usageError) Error() string {
	return string(e) + "; `cluster help` lists the commands"
}

func run(command string, args []string) error {
	switch command {
	case "help", "-h", "--help":
		fmt.Print(usage)
		return nil
	case "node-run":
		return nodeRun(args)
	}
	p, err := findPlaces()
	if err != nil {
		return err
	}
	switch command {
	case "up":
		options, err := parseUp(args)
		if err != nil {
			return err
		}
		return up(p, options)
	case "build":
		options, err := parseUp(args)
		if err != nil {
			return err
		}
		return buildAll(p, options)
	case "down":
		return expectNone(args, func() error { return down(p) })
	case "status":
		return expectNone(args, func() error { return status(p) })
	case "kubeconfig":
		return expectNone(args, func() error {
			if _, err := p.running(); err != nil {
				return err
			}
			fmt.Println(p.kubeconfig())
			return nil
		})
	case "load":
		return load(p, args)
	case "exec":
		if len(args) > 1 && args[1] == "--" {
			args = append(args[:1:1], args[2:]...)
		}
		if len(args) < 2 {
			return usageError("exec needs a node and a command")
		}
		return execute(p, args[0], args[1:])
	case "node":
		if len(args) != 2 {
			return usageError("node needs what to do, and a node")
		}
		return nodeCommand(p, args[0], args[1])
	// What follows is not for users: the program starts itself.
	case "daemon":
		return daemon(p, args)
	case "watch":
		return watch(p)
	case "init":
		return initMain(p, args)
	case "node-setup":
		return nodeSetup(p, args)
	}
	return usageError(fmt.Sprintf("unknown command %q", command))
}

func expectNone(args []string, then func() error) error {
	if len(args) > 0 {
		return usageError("unexpected: " + strings.Join(args, " "))
	}
	return then()
}
