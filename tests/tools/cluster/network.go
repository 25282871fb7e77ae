package main

import (
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"
)

const bridgeName = "nodes"

// makeBridge makes the switch that all nodes are connected to.
func makeBridge() error {
	if err := setUp("lo"); err != nil {
		return err
	}
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridgeName}}
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("cannot add a bridge: %w", err)
	}
	if err := addAddress(bridge, bridgeAddress); err != nil {
		return err
	}
	return netlink.LinkSetUp(bridge)
}

// plugIn connects the bridge with the network namespace of the process `pid`.
func plugIn(n node, pid int) error {
	bridge, err := netlink.LinkByName(bridgeName)
	if err != nil {
		return err
	}
	cable := &netlink.Veth{
		LinkAttrs:     netlink.LinkAttrs{Name: n.link(), MasterIndex: bridge.Attrs().Index},
		PeerName:      "eth0",
		PeerNamespace: netlink.NsPid(pid),
	}
	// The end of a killed node's cable may still be there for a moment.
	if old, err := netlink.LinkByName(n.link()); err == nil {
		_ = netlink.LinkDel(old)
	}
	if err := netlink.LinkAdd(cable); err != nil {
		return fmt.Errorf("cannot add a pair of network interfaces: %w", err)
	}
	return netlink.LinkSetUp(cable)
}

// configureNetwork gives a node its address, and a route to the pods of each other node.
func configureNetwork(n node, workers int) error {
	if err := setUp("lo"); err != nil {
		return err
	}
	link, err := netlink.LinkByName("eth0")
	if err != nil {
		return err
	}
	if err := addAddress(link, n.address()); err != nil {
		return err
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return err
	}
	// The kubelet looks for the route to everywhere. There is nothing behind the bridge.
	everywhere := netlink.Route{LinkIndex: link.Attrs().Index, Gw: net.ParseIP(bridgeAddress)}
	if err := netlink.RouteAdd(&everywhere); err != nil {
		return err
	}
	for _, other := range nodes(workers) {
		if other == n || other.isControlPlane() {
			continue
		}
		_, pods, err := net.ParseCIDR(other.pods())
		if err != nil {
			return err
		}
		route := netlink.Route{Dst: pods, Gw: net.ParseIP(other.address()), LinkIndex: link.Attrs().Index}
		if err := netlink.RouteAdd(&route); err != nil {
			return err
		}
	}
	return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0)
}

func addAddress(link netlink.Link, address string) error {
	_, network, err := net.ParseCIDR(nodeNetwork)
	if err != nil {
		return err
	}
	network.IP = net.ParseIP(address)
	return netlink.AddrAdd(link, &netlink.Addr{IPNet: network})
}

func setUp(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(link)
}
