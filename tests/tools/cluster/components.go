package main

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
)

// program returns the path of a binary on a node.
func program(name string) string { return cacheOnNode + "/bin/" + name }

const configFolder = "/etc/kubernetes/"

func controlPlaneProcesses(n node) []process {
	file := func(name string) string { return configFolder + name }
	return []process{
		{"etcd", []string{
			program("etcd"),
			"--name=" + n.name(),
			"--data-dir=/var/lib/etcd",
			"--listen-client-urls=https://127.0.0.1:2379",
			"--advertise-client-urls=https://127.0.0.1:2379",
			"--listen-peer-urls=http://127.0.0.1:2380",
			"--client-cert-auth",
			"--trusted-ca-file=" + file("ca.crt"),
			"--cert-file=" + file("etcd.crt"),
			"--key-file=" + file("etcd.key"),
			// A cluster that loses power is made anew.
			"--unsafe-no-fsync",
		}},
		{"kube-apiserver", []string{
			program("kube-apiserver"),
			"--advertise-address=" + n.address(),
			"--secure-port=" + strconv.Itoa(apiPort),
			"--service-cluster-ip-range=" + serviceNetwork,
			"--allow-privileged=true",
			"--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=NodeRestriction",
			"--etcd-servers=https://127.0.0.1:2379",
			"--etcd-cafile=" + file("ca.crt"),
			"--etcd-certfile=" + file("etcd.crt"),
			"--etcd-keyfile=" + file("etcd.key"),
			"--client-ca-file=" + file("ca.crt"),
			"--tls-cert-file=" + file("apiserver.crt"),
			"--tls-private-key-file=" + file("apiserver.key"),
			"--kubelet-certificate-authority=" + file("ca.crt"),
			"--kubelet-client-certificate=" + file("apiserver-kubelet-client.crt"),
			"--kubelet-client-key=" + file("apiserver-kubelet-client.key"),
			// The control plane cannot resolve the names of nodes.
			"--kubelet-preferred-address-types=InternalIP",
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file=" + file("service-accounts.key"),
			"--service-account-signing-key-file=" + file("service-accounts.key"),
			"--requestheader-client-ca-file=" + file("front-proxy-ca.crt"),
			"--requestheader-allowed-names=front-proxy-client",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			"--requestheader-group-headers=X-Remote-Group",
			"--requestheader-username-headers=X-Remote-User",
			"--proxy-client-cert-file=" + file("front-proxy-client.crt"),
			"--proxy-client-key-file=" + file("front-proxy-client.key"),
		}},
		{"kube-controller-manager", []string{
			program("kube-controller-manager"),
			"--kubeconfig=" + file("controller-manager.conf"),
			"--authentication-kubeconfig=" + file("controller-manager.conf"),
			"--authorization-kubeconfig=" + file("controller-manager.conf"),
			"--bind-address=127.0.0.1",
			"--leader-elect=false",
			"--use-service-account-credentials",
			"--root-ca-file=" + file("ca.crt"),
			"--cluster-signing-cert-file=" + file("ca.crt"),
			"--cluster-signing-key-file=" + file("ca.key"),
			"--service-account-private-key-file=" + file("service-accounts.key"),
		}},
		{"kube-scheduler", []string{
			program("kube-scheduler"),
			"--kubeconfig=" + file("scheduler.conf"),
			"--authentication-kubeconfig=" + file("scheduler.conf"),
			"--authorization-kubeconfig=" + file("scheduler.conf"),
			"--bind-address=127.0.0.1",
			"--leader-elect=false",
		}},
		// The API server calls webhooks by the addresses of their Services.
		kubeProxy(),
	}
}

func workerProcesses(n node) []process {
	return []process{
		{"containerd", []string{program("containerd"), "--config=" + configFolder + "containerd.toml"}},
		{"kubelet", []string{
			program("kubelet"),
			"--config=" + configFolder + "kubelet.yaml",
			"--kubeconfig=" + configFolder + "kubelet.conf",
			"--hostname-override=" + n.name(),
			"--node-ip=" + n.address(),
		}},
		kubeProxy(),
		{"network-policy", []string{
			program("network-policy"),
			"--kubeconfig=" + configFolder + "network-policy.conf",
			"--node=" + n.name(),
			"--services=" + serviceNetwork,
		}},
	}
}

func kubeProxy() process {
	return process{"kube-proxy", []string{program("kube-proxy"), "--config=" + configFolder + "kube-proxy.yaml"}}
}

// writeConfiguration writes the configuration files of a node.
func writeConfiguration(p places, n node) error {
	files := map[string]string{"kube-proxy.yaml": fmt.Sprintf(kubeProxyConfig, n.name(), podNetwork)}
	if !n.isControlPlane() {
		files["kubelet.yaml"] = fmt.Sprintf(kubeletConfig, dnsService)
		files["containerd.toml"] = fmt.Sprintf(containerdConfig, pauseImage)
		files["cni/10-pods.conflist"] = fmt.Sprintf(cniConfig, n.pods())
		registry := net.JoinHostPort(bridgeAddress, strconv.Itoa(registryPort))
		files["registries/_default/hosts.toml"] = fmt.Sprintf(hostsConfig, registry)
	}
	for name, text := range files {
		if err := writeFile(filepath.Join(p.config(n), name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

const pauseImage = "registry.k8s.io/pause:kbr-cluster"

// Without masquerading and with a route to each node's pods, pods see each other's addresses.
// There is no bridge in the node: each packet is routed, so that network policies see it.
const cniConfig = `{
  "cniVersion": "1.0.0",
  "name": "pods",
  "plugins": [{
    "type": "ptp",
    "ipMasq": false,
    "ipam": {
      "type": "host-local",
      "ranges": [[{"subnet": %q}]],
      "routes": [{"dst": "0.0.0.0/0"}]
    }
  }]
}
`

// Every image comes from the cluster's own registry, whatever registry its name says.
const hostsConfig = `[host."http://%s"]
capabilities = ["pull", "resolve"]
`

const containerdConfig = `version = 3
oom_score = 0

[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = %q

[plugins.'io.containerd.cri.v1.images'.registry]
config_path = "/etc/kubernetes/registries"

[plugins.'io.containerd.cri.v1.runtime']
restrict_oom_score_adj = true
disable_apparmor = true
disable_hugetlb_controller = true
tolerate_missing_hugetlb_controller = true

[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ["/usr/lib/cni"]
conf_dir = "/etc/kubernetes/cni"

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
SystemdCgroup = false
`

// The disk belongs to the host, however full it is.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: /etc/kubernetes/ca.crt}
authorization: {mode: Webhook}
tlsCertFile: /etc/kubernetes/kubelet.crt
tlsPrivateKeyFile: /etc/kubernetes/kubelet.key
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
clusterDomain: cluster.local
clusterDNS: [%s]
resolvConf: ""
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
evictionHard:
  memory.available: 100Mi
  nodefs.available: 1%%
  imagefs.available: 1%%
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
`

// The limits of connection tracking belong to the host.
const kubeProxyConfig = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
hostnameOverride: %s
clusterCIDR: %s
clientConnection: {kubeconfig: /etc/kubernetes/kube-proxy.conf}
conntrack: {maxPerCore: 0, min: 0}
`
