package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const anyIssuer = `apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: any, namespace: default}
spec: {selfSigned: {}}
`

// deployCertManager ends when cert-manager's webhook accepts an Issuer.
func deployCertManager(p places) error {
	types, err := certManagerTypes(p)
	if err != nil {
		return err
	}
	if _, err := p.kubectl(types, "apply", "--server-side", "--filename=-"); err != nil {
		return err
	}
	if err := p.apply("cert-manager.yaml"); err != nil {
		return err
	}
	for _, name := range certManager.names() {
		if err := p.rollout("cert-manager", name); err != nil {
			return err
		}
	}
	err = poll(time.Minute, "cert-manager's webhook", func() error {
		_, err := p.kubectl(anyIssuer, "create", "--dry-run=server", "--filename=-")
		return err
	})
	if err == nil {
		say("cert-manager is ready")
	}
	return err
}

// certManagerTypes returns the CRDs that are in cert-manager's Go module.
func certManagerTypes(p places) (string, error) {
	command := exec.Command("go", "mod", "download", "-json", "github.com/cert-manager/cert-manager")
	command.Dir = filepath.Join(p.source, "modules", certManager.module)
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly")
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go mod download: %w\n%s", err, output)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(output, &module); err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(module.Dir, "deploy/crds/*.yaml"))
	if err != nil {
		return "", err
	}
	if len(files) == 0 {
		return "", fmt.Errorf("no CRDs in %s", module.Dir)
	}
	var all strings.Builder
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		all.WriteString("---\n")
		// They are templates of Helm: what it fills in are labels, which nothing here needs.
		for line := range strings.Lines(string(text)) {
			if !strings.Contains(line, "{{") {
				all.WriteString(line)
			}
		}
	}
	return all.String(), nil
}
