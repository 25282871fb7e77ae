package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// kubectl runs kubectl as the cluster's administrator, and returns what it prints.
func (p places) kubectl(input string, args ...string) (string, error) {
	command := exec.Command(filepath.Join(p.cache, "bin", "kubectl"), append([]string{"--kubeconfig", p.kubeconfig()}, args...)...)
	command.Stdin = strings.NewReader(input)
	var out, problems bytes.Buffer
	command.Stdout, command.Stderr = &out, &problems
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(problems.String()))
	}
	return out.String(), nil
}
