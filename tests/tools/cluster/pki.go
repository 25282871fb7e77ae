package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"time"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// pair is a certificate or an authority's certificate, and its key, in PEM.
type pair struct {
	certificate, key []byte
}

func newAuthority(name string) (authority, pair, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, pair{}, err
	}
	a := authority{template, key}
	p, err := a.sign(template, key)
	return a, p, err
}

// issue returns a certificate for a client, and for a server if it has addresses.
func (a authority) issue(name, group string, addresses ...string) (pair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: name},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if group != "" {
		template.Subject.Organization = []string{group}
	}
	if len(addresses) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, address := range addresses {
		if ip := net.ParseIP(address); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, address)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	return a.sign(template, key)
}

func (a authority) sign(template *x509.Certificate, key *ecdsa.PrivateKey) (pair, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return pair{}, err
	}
	template.SerialNumber = serial
	// The clocks of a suspended virtual machine may jump.
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = template.NotBefore.AddDate(1, 0, 0)
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return pair{}, err
	}
	private, err := keyPEM(key)
	if err != nil {
		return pair{}, err
	}
	return pair{encodePEM("CERTIFICATE", der), private}, nil
}

func keyPEM(key *ecdsa.PrivateKey) ([]byte, error) {
	// The only form in which the API server reads the key for service accounts.
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return encodePEM("EC PRIVATE KEY", der), nil
}

func encodePEM(kind string, der []byte) []byte {
	var text bytes.Buffer
	// Writing to memory does not fail.
	_ = pem.Encode(&text, &pem.Block{Type: kind, Bytes: der})
	return text.Bytes()
}

// writeCredentials writes all certificates, keys and kubeconfigs to the nodes' configuration
// folders. The host gets its own kubeconfig later, when the port is known: `admin` is for it.
func writeCredentials(p places, all []node) (ca []byte, admin pair, err error) {
	cluster, clusterPair, err := newAuthority("kbr-cluster")
	if err != nil {
		return nil, pair{}, err
	}
	front, frontPair, err := newAuthority("kbr-cluster-front-proxy")
	if err != nil {
		return nil, pair{}, err
	}
	control := p.config(all[0])
	server := fmt.Sprintf("https://%s", net.JoinHostPort(controlAddress, fmt.Sprint(apiPort)))

	// Collects what is written, so that there is one place that fails.
	files := map[string][]byte{}
	certificate := func(folder, file string, from authority, name, group string, addresses ...string) {
		issued, issueErr := from.issue(name, group, addresses...)
		if issueErr != nil {
			err = issueErr
		}
		files[filepath.Join(folder, file+".crt")] = issued.certificate
		files[filepath.Join(folder, file+".key")] = issued.key
	}
	config := func(folder, file, name, group string) {
		issued, issueErr := cluster.issue(name, group)
		if issueErr != nil {
			err = issueErr
		}
		files[filepath.Join(folder, file+".conf")] = kubeconfig(server, clusterPair.certificate, issued)
	}

	files[filepath.Join(control, "ca.key")] = clusterPair.key
	files[filepath.Join(control, "front-proxy-ca.crt")] = frontPair.certificate
	certificate(control, "front-proxy-client", front, "front-proxy-client", "")
	certificate(control, "etcd", cluster, "etcd", "", "127.0.0.1", "localhost")
	certificate(control, "apiserver", cluster, "kube-apiserver", "", "kubernetes", "kubernetes.default",
		"kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost", "127.0.0.1",
		controlAddress, apiService)
	certificate(control, "apiserver-kubelet-client", cluster, "kube-apiserver-kubelet-client", "system:masters")
	config(control, "controller-manager", "system:kube-controller-manager", "")
	config(control, "scheduler", "system:kube-scheduler", "")
	accounts, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, pair{}, err
	}
	accountsKey, err := keyPEM(accounts)
	if err != nil {
		return nil, pair{}, err
	}
	files[filepath.Join(control, "service-accounts.key")] = accountsKey

	for _, n := range all {
		folder := p.config(n)
		files[filepath.Join(folder, "ca.crt")] = clusterPair.certificate
		config(folder, "kube-proxy", "system:kube-proxy", "")
		if n.isControlPlane() {
			continue
		}
		config(folder, "kubelet", "system:node:"+n.name(), "system:nodes")
		certificate(folder, "kubelet", cluster, "system:node:"+n.name(), "system:nodes", n.name(), n.address())
		config(folder, "network-policy", "network-policy", "")
	}
	if err != nil {
		return nil, pair{}, err
	}
	for path, text := range files {
		if err := writeFile(path, text, 0o600); err != nil {
			return nil, pair{}, err
		}
	}
	admin, err = cluster.issue("admin", "system:masters")
	return clusterPair.certificate, admin, err
}

func kubeconfig(server string, ca []byte, client pair) []byte {
	encode := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: kbr-cluster
contexts:
- name: kbr-cluster
  context: {cluster: kbr-cluster, user: kbr-cluster}
clusters:
- name: kbr-cluster
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: kbr-cluster
  user:
    client-certificate-data: %s
    client-key-data: %s
`, server, encode(ca), encode(client.certificate), encode(client.key))
}
