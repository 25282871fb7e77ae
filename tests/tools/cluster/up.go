package main

import (
	"crypto/tls"
	"crypto/x509"
	"embed"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

type upOptions struct {
	workers                          int
	certManager, prometheus, install bool
}

func parseUp(args []string) (upOptions, error) {
	var o upOptions
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.IntVar(&o.workers, "nodes", 3, "")
	flags.BoolVar(&o.certManager, "cert-manager", false, "")
	flags.BoolVar(&o.prometheus, "prometheus", false, "")
	flags.BoolVar(&o.install, "install", false, "")
	if err := flags.Parse(args); err != nil {
		return o, usageError(err.Error())
	}
	if flags.NArg() > 0 {
		return o, usageError("unexpected: " + strings.Join(flags.Args(), " "))
	}
	if o.workers < 1 || o.workers > maxNodes {
		return o, usageError(fmt.Sprintf("--nodes is a number from 1 to %d", maxNodes))
	}
	return o, nil
}

// addons are the components that are built on request, and run as pods.
func (o upOptions) addons() []component {
	var all []component
	if o.certManager {
		all = append(all, certManager)
	}
	if o.prometheus {
		all = append(all, monitoring...)
	}
	return all
}

var start = time.Now()

// say prints a line of progress, with the seconds since the start.
func say(format string, args ...any) {
	fmt.Printf("%6.1fs %s\n", time.Since(start).Seconds(), fmt.Sprintf(format, args...))
}

func up(p places, o upOptions) error {
	if err := check(p, o.install); err != nil {
		return err
	}
	if err := buildAll(p, o); err != nil {
		return err
	}

	lock, err := prepare(p)
	if err != nil {
		return err
	}
	defer lock.Close()
	all := nodes(o.workers)
	if err := os.RemoveAll(filepath.Dir(p.daemonLog())); err != nil {
		return err
	}
	for _, n := range all {
		if err := writeConfiguration(p, n); err != nil {
			return err
		}
		if err := os.MkdirAll(p.logs(n), 0o755); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(p.registry(), 0o755); err != nil {
		return err
	}
	ca, admin, err := writeCredentials(p, all)
	if err != nil {
		return err
	}

	say("starting one control plane and %d nodes", o.workers)
	handle, err := startDaemon(p, o.workers, lock)
	if err != nil {
		return err
	}
	// If this function fails, the daemon and all that it started end.
	defer handle.Close()
	if err := waitUntilReady(p, o, ca, admin); err != nil {
		return fmt.Errorf("%w; the logs are in %s", err, filepath.Dir(p.daemonLog()))
	}
	if _, err := handle.WriteString(keep); err != nil {
		return fmt.Errorf("the daemon ended: %w; %s may say why", err, p.daemonLog())
	}
	say("ready: export KUBECONFIG=%s", p.kubeconfig())
	return nil
}

func waitUntilReady(p places, o upOptions, ca []byte, admin pair) error {
	var f facts
	err := poll(10*time.Second, "the daemon", func() error {
		var err error
		f, err = p.running()
		return err
	})
	if err != nil {
		return err
	}
	server := fmt.Sprintf("https://127.0.0.1:%d", f.API)
	if err := writeFile(p.kubeconfig(), kubeconfig(server, ca, admin), 0o600); err != nil {
		return err
	}

	// Pushed while the API server starts.
	pushed := make(chan error, 1)
	go func() { pushed <- pushOwn(p, f, o) }()
	client, err := clientOf(ca, admin)
	if err != nil {
		return err
	}
	err = poll(2*time.Minute, "the API server", func() error {
		response, err := client.Get(server + "/readyz")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("it answers %s", response.Status)
		}
		return nil
	})
	if err != nil {
		return err
	}
	say("the API server is ready")
	if err := <-pushed; err != nil {
		return err
	}
	if err := p.apply("network-policy.yaml", "coredns.yaml"); err != nil {
		return err
	}
	err = poll(2*time.Minute, "the nodes", func() error {
		names, err := p.kubectl("", "get", "nodes", "--output=name")
		if found := strings.Count(names, "\n"); err == nil && found < o.workers {
			err = fmt.Errorf("%d of %d have registered", found, o.workers)
		}
		return err
	})
	if err != nil {
		return err
	}
	if _, err := p.kubectl("", "wait", "--for=condition=Ready", "nodes", "--all", "--timeout=2m"); err != nil {
		return err
	}
	say("%d nodes are ready", o.workers)
	if err := p.rollout("kube-system", "coredns"); err != nil {
		return err
	}
	say("CoreDNS answers")
	if o.certManager {
		if err := deployCertManager(p); err != nil {
			return err
		}
	}
	if o.prometheus {
		return deployPrometheus(p)
	}
	return nil
}

func deployPrometheus(p places) error {
	if err := p.apply("prometheus.yaml", "metrics-server.yaml"); err != nil {
		return err
	}
	for _, name := range []string{"kube-state-metrics", "prometheus", "metrics-server"} {
		if err := p.rollout("monitoring", name); err != nil {
			return err
		}
	}
	say("Prometheus is ready")
	return nil
}

func clientOf(ca []byte, admin pair) (*http.Client, error) {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	certificate, err := tls.X509KeyPair(admin.certificate, admin.key)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{certificate}}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config}, Timeout: 5 * time.Second}, nil
}

// poll calls `is` until it does not fail, for so long.
func poll(limit time.Duration, what string, is func() error) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(200 * time.Millisecond) {
		err := is()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s not ready after %s: %w", what, limit, err)
		}
	}
}

// The images of what runs as pods here have this tag, since nobody else has them.
const ownTag = "kbr-cluster"

func pushOwn(p places, f facts, o upOptions) error {
	images := map[string]string{pauseImage: "pause", "coredns:" + ownTag: "coredns"}
	for _, c := range o.addons() {
		for _, name := range c.names() {
			images[name+":"+ownTag] = name
		}
	}
	for reference, name := range images {
		image, err := imageOf([]binary{{filepath.Join(p.cache, "bin", name), "/" + name}})
		if err != nil {
			return err
		}
		if err := push(f, reference, image); err != nil {
			return err
		}
	}
	return nil
}

//go:embed manifests
var manifests embed.FS

func (p places) apply(names ...string) error {
	for _, name := range names {
		text, err := manifests.ReadFile("manifests/" + name)
		if err != nil {
			return err
		}
		// A new API server may still be creating what it refers to.
		err = poll(20*time.Second, name, func() error {
			_, err := p.kubectl(string(text), "apply", "--server-side", "--filename=-")
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rollout waits until a Deployment's pods are ready.
func (p places) rollout(namespace, name string) error {
	_, err := p.kubectl("", "rollout", "status", "--namespace="+namespace, "deployment/"+name, "--timeout=3m")
	return err
}
