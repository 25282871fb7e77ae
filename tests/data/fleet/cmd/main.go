package main

// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

func main() {
	_ = Options{LeaderElection: true, LeaderElectionID: "3e9f67a9.example.com"}
}
