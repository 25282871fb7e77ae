package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func testPlaces(t *testing.T) places {
	folder := t.TempDir()
	return places{state: filepath.Join(folder, "state"), cache: filepath.Join(folder, "cache"), source: "."}
}

func TestBadCommandLinesAreRefused(t *testing.T) {
	t.Setenv("CLUSTER_SOURCE", ".")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, c := range []struct{ line, says string }{
		{"dance", `unknown command "dance"`},
		{"up --nodes=0", "--nodes is a number from 1 to 50"},
		{"up --nodes=51", "--nodes is a number from 1 to 50"},
		{"up --nodes=many", `invalid value "many"`},
		{"up --speed", "flag provided but not defined: -speed"},
		{"up now", "unexpected: now"},
		{"build now", "unexpected: now"},
		{"down --force", "unexpected: --force"},
		{"load controller:latest", "load needs a name, and a binary or --archive"},
		{"exec node1", "exec needs a node and a command"},
		{"exec node1 --", "exec needs a node and a command"},
		{"node freeze", "node needs what to do, and a node"},
	} {
		words := strings.Fields(c.line)
		err := run(words[0], words[1:])
		var usage usageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("cluster %s: %v, not %q", c.line, err, c.says)
		}
	}
}

func TestCommandsSayThatTheClusterDoesNotRun(t *testing.T) {
	t.Setenv("CLUSTER_SOURCE", ".")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, line := range []string{"status", "kubeconfig", "load a:b /bin/true", "exec node1 -- true", "node kill node1"} {
		words := strings.Fields(line)
		if err := run(words[0], words[1:]); !errors.Is(err, errNotRunning) && os.Geteuid() == 0 {
			t.Errorf("cluster %s: %v", line, err)
		}
	}
}

func TestOnlyOneHasTheLock(t *testing.T) {
	p := testPlaces(t)
	first, err := p.takeLock()
	if err != nil || first == nil {
		t.Fatalf("%v %v", first, err)
	}
	if second, err := p.takeLock(); err != nil || second != nil {
		t.Fatalf("%v %v", second, err)
	}
	if held, err := p.isLocked(); err != nil || !held {
		t.Fatalf("%v %v", held, err)
	}
	first.Close()
	if held, err := p.isLocked(); err != nil || held {
		t.Fatalf("%v %v", held, err)
	}
}

func TestNodesHaveAddressesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, n := range nodes(maxNodes) {
		for _, value := range []string{n.name(), n.address(), n.pods(), n.link()} {
			if seen[value] {
				t.Errorf("%s twice", value)
			}
			seen[value] = true
		}
	}
	if _, err := findNode("node4", 3); err == nil || !strings.Contains(err.Error(), "node1 to node3") {
		t.Errorf("%v", err)
	}
}

func TestCredentialsAreSignedByTheCluster(t *testing.T) {
	p := testPlaces(t)
	all := nodes(1)
	ca, admin, err := writeCredentials(p, all)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	server, err := tls.LoadX509KeyPair(filepath.Join(p.config(all[0]), "apiserver.crt"), filepath.Join(p.config(all[0]), "apiserver.key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"127.0.0.1", controlAddress, apiService, "kubernetes.default.svc"} {
		if _, err := server.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	client, err := tls.X509KeyPair(admin.certificate, admin.key)
	if err != nil {
		t.Fatal(err)
	}
	usage := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if _, err := client.Leaf.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: usage}); err != nil {
		t.Error(err)
	}
	if !slices.Equal(client.Leaf.Subject.Organization, []string{"system:masters"}) {
		t.Errorf("%v", client.Leaf.Subject)
	}
}

func TestAnImageHasTheLibrariesOfItsProgram(t *testing.T) {
	libraries, err := librariesOf("/bin/ls")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(libraries, func(path string) bool { return strings.HasSuffix(path, "/libc.so.6") }) {
		t.Errorf("%v", libraries)
	}
	image, err := imageOf([]binary{{"/bin/ls", "/bin/list"}, {"/bin/true", "/bin/true"}})
	if err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%v %v", layers, err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	// It runs with nothing but what is in the image.
	root := t.TempDir()
	unpack := exec.Command("tar", "-x", "-C", root)
	unpack.Stdin = content
	if output, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, output)
	}
	if os.Geteuid() != 0 {
		t.Fatal("run this as root, as the cluster itself: it changes the root folder")
	}
	output, err := exec.Command("chroot", root, "/bin/list", "/etc").CombinedOutput()
	if err != nil || string(output) != "group\npasswd\n" {
		t.Errorf("%v %s", err, output)
	}
}

func TestWhatIsNoProgramIsRefused(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := imageOf([]binary{{script, "/script"}}); err == nil || !strings.Contains(err.Error(), "is no program") {
		t.Errorf("%v", err)
	}
	if _, err := parseBinary("/bin/ls=bin/ls"); err == nil || !strings.Contains(err.Error(), "must be absolute") {
		t.Errorf("%v", err)
	}
}

func TestMissingControllersAreNamed(t *testing.T) {
	err := lacking(neededV2, []string{"cpu", "memory", "io"})
	if err == nil || !strings.Contains(err.Error(), "no cgroup controllers cpuset, pids") {
		t.Errorf("%v", err)
	}
}
