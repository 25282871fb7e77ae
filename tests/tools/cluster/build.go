package main

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// component is what is built together, from one Go module.
type component struct {
	// module is its folder below modules, whose go.mod and go.sum have the versions.
	module string
	// packages are the main packages; Go names the binaries after them, and `as` has other names for some.
	packages []string
	as       map[string]string
	// tags are Go's build tags.
	tags string
	// stamp sets the version that Kubernetes' binaries report.
	stamp bool
	// ready says that `kbr envtest` may have built the same binaries.
	ready bool
}

var (
	// Those that `kbr envtest` may have come last: while this builds, it builds them.
	nodeComponents = []component{
		{module: "kubernetes", packages: kubernetes("kubelet", "kube-proxy", "kube-scheduler"), stamp: true},
		{module: "containerd", packages: []string{
			"github.com/containerd/containerd/v2/cmd/containerd",
			"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
			"github.com/containerd/containerd/v2/cmd/ctr",
		}},
		{module: "network-policy", packages: []string{"network-policy"}},
		{module: "coredns", packages: []string{"coredns"}},
		{module: "..", packages: []string{"cluster/pause"}},
		{module: "etcd", packages: []string{"go.etcd.io/etcd/server/v3"}, as: map[string]string{"server": "etcd"}, ready: true},
		{module: "kubernetes", packages: kubernetes("kube-apiserver", "kube-controller-manager", "kubectl"), stamp: true, ready: true},
	}
	certManager = component{module: "cert-manager", packages: []string{
		"github.com/cert-manager/cert-manager/cmd/controller",
		"github.com/cert-manager/cert-manager/cmd/cainjector",
		"github.com/cert-manager/cert-manager/cmd/webhook",
	}, as: map[string]string{
		"controller": "cert-manager-controller", "cainjector": "cert-manager-cainjector", "webhook": "cert-manager-webhook",
	}}
	monitoring = []component{
		// In the version that tests/tools/query-state-metrics has.
		{module: "../../state-metrics", packages: []string{"k8s.io/kube-state-metrics/v2"}},
		// Without what finds its targets in clouds.
		{module: "prometheus", packages: []string{"github.com/prometheus/prometheus/cmd/prometheus"},
			tags: "remove_all_sd,enable_kubernetes_sd"},
		{module: "metrics-server", packages: []string{"sigs.k8s.io/metrics-server/cmd/metrics-server"}},
	}
)

func kubernetes(names ...string) []string {
	for i, name := range names {
		names[i] = "k8s.io/kubernetes/cmd/" + name
	}
	return names
}

// goName is the name that Go gives the binary of a main package: its last word that is no version.
func goName(path string) string {
	name := filepath.Base(path)
	if majorVersion.MatchString(name) {
		name = filepath.Base(filepath.Dir(path))
	}
	return name
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// built is what the binary of a package is called in the cache.
func (c component) built(path string) string {
	name := goName(path)
	if other, ok := c.as[name]; ok {
		return other
	}
	return name
}

func (c component) names() []string {
	var names []string
	for _, path := range c.packages {
		names = append(names, c.built(path))
	}
	return names
}

// buildAll builds what the cache does not have. Another cluster waits for it, and uses it too.
func buildAll(p places, o upOptions) error {
	if err := os.MkdirAll(filepath.Join(p.cache, "bin"), 0o755); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(p.cache, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	// Builds that were killed.
	left, err := filepath.Glob(filepath.Join(p.cache, "build-*"))
	if err != nil {
		return err
	}
	for _, folder := range left {
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
	}
	for _, c := range slices.Concat(o.addons(), nodeComponents) {
		if err := c.build(p); err != nil {
			return err
		}
	}
	return nil
}

// build puts the component's binaries into the cache, unless they are there in the same version.
func (c component) build(p places) error {
	folder := filepath.Join(p.source, "modules", c.module)
	key, err := c.key(folder)
	if err != nil {
		return err
	}
	bin := filepath.Join(p.cache, "bin")
	note := filepath.Join(p.cache, "versions", c.names()[0])
	if text, err := os.ReadFile(note); err == nil && string(text) == key && allExist(bin, c.names()) {
		return nil
	}
	temporary, err := os.MkdirTemp(p.cache, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	if !c.ready || !c.fromEnvtest(folder, temporary) {
		if err := c.compile(folder, temporary); err != nil {
			return err
		}
	}
	for _, path := range c.packages {
		from := filepath.Join(temporary, goName(path))
		if err := os.Rename(from, filepath.Join(bin, c.built(path))); err != nil {
			return err
		}
	}
	return writeFile(note, []byte(key), 0o644)
}

func allExist(folder string, names []string) bool {
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			return false
		}
	}
	return true
}

// key changes with everything that the binaries are made of.
func (c component) key(folder string) (string, error) {
	hash := sha256.New()
	fmt.Fprintln(hash, runtime.Version(), compilerFlags, c.packages)
	if c.tags != "" {
		fmt.Fprintln(hash, c.tags)
	}
	files := []string{"go.mod", "go.sum", "main.go"}
	if c.module == ".." {
		files = []string{"pause/main.go"}
	}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(text), text)
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}

// fromEnvtest takes the binaries that kbr has for tests with an API server, if they have the same version.
func (c component) fromEnvtest(folder, to string) bool {
	version, err := kubernetesVersion(filepath.Dir(folder))
	if err != nil {
		return false
	}
	data, err := baseFolder("XDG_DATA_HOME", ".local/share")
	if err != nil {
		return false
	}
	from := filepath.Join(data, "kubebuilder-envtest/k8s", version+"-linux-"+runtime.GOARCH)
	for _, path := range c.packages {
		source, target := filepath.Join(from, c.built(path)), filepath.Join(to, goName(path))
		if os.Link(source, target) != nil && exec.Command("cp", source, target).Run() != nil {
			return false
		}
	}
	say("took %s from %s", strings.Join(c.names(), ", "), from)
	return true
}

var requirement = regexp.MustCompile(`\bk8s\.io/kubernetes v(\S+)`)

// kubernetesVersion returns a version such as 1.36.2.
func kubernetesVersion(modules string) (string, error) {
	path := filepath.Join(modules, "kubernetes", "go.mod")
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	found := requirement.FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("%s does not require k8s.io/kubernetes", path)
	}
	return string(found[1]), nil
}

// compilerFlags build without optimization and debug information, in two thirds of the time.
const compilerFlags = "-gcflags=all=-N -l -dwarf=false"

// compile runs Go with its usual caches, which all components share.
func (c component) compile(folder, to string) error {
	flags := "-s -w"
	if c.stamp {
		version, err := kubernetesVersion(filepath.Dir(folder))
		if err != nil {
			return err
		}
		numbers := strings.Split(version, ".")
		for name, value := range map[string]string{
			"gitVersion": "v" + version, "gitMajor": numbers[0], "gitMinor": numbers[1],
			"gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z",
		} {
			flags += " -X k8s.io/component-base/version." + name + "=" + value
		}
	}
	args := append([]string{"build", "-v", "-trimpath", "-tags=" + c.tags, compilerFlags, "-ldflags", flags, "-o", to + "/"}, c.packages...)
	command := exec.Command("go", args...)
	command.Dir = folder
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly",
		// What Go leaves if it is killed is removed with what this program leaves.
		"GOTMPDIR="+to)
	// If this process is killed, nobody wants the result.
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGINT}
	output, err := command.StderrPipe()
	if err != nil {
		return err
	}
	what := strings.Join(c.names(), ", ")
	say("building %s", what)
	if err := command.Start(); err != nil {
		return fmt.Errorf("cannot start Go, which builds %s: %w", what, err)
	}

	var packages atomic.Int64
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Second):
				say("building %s: %d packages", what, packages.Load())
			}
		}
	}()
	var problems strings.Builder
	for lines := bufio.NewScanner(output); lines.Scan(); {
		line := lines.Text()
		// The name of a package that is compiled, or a module that is downloaded.
		if !strings.Contains(line, " ") || strings.HasPrefix(line, "go: downloading ") {
			packages.Add(1)
			continue
		}
		problems.WriteString(line + "\n")
	}
	if err := command.Wait(); err != nil {
		return fmt.Errorf("cannot build %s: %w\n%s", what, err, problems.String())
	}
	return nil
}
