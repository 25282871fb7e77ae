package crew

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	crewv1 "example.com/fleet/api/crew/v1"
)

/*
A marker in such a comment is none:
// +kubebuilder:rbac:groups=none,resources=nothing,verbs=get
*/

type CaptainReconciler struct{}

//+kubebuilder:rbac:groups=crew.example.com,resources=captains,verbs=get;list;watch
// +kubebuilder:rbac:groups=crew.example.com,resources=captains/status,verbs=patch

// What is between a marker and its function does not matter.

// Reconcile tells a captain what to do, see `+kubebuilder:rbac`.
// +kubebuilder:rbac:groups=core,resources=pods,verbs=get;list;watch
func (r *CaptainReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, r.salute("} // +kubebuilder:rbac:groups=x,resources=y,verbs=get")
}

func (r *CaptainReconciler) salute(text string) error { return nil }

func (r *CaptainReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&crewv1.Captain{}).Owns(&corev1.Pod{}).Named("captain").Complete(r)
}

type CaptainBackupReconciler struct{}

// +kubebuilder:rbac:groups=crew.example.com,resources=captains/finalizers,verbs=update
// +kubebuilder:rbac:urls=/metrics,verbs=get

func (r *CaptainBackupReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

func (r *CaptainBackupReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&crewv1.Captain{}).Named("captain-backup").Complete(r)
}
