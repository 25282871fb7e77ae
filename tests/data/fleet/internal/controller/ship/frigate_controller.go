package ship

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	shipv1 "example.com/fleet/api/ship/v1"
)

type FrigateReconciler struct{}

// +kubebuilder:rbac:groups=ship.example.com,resources=frigates,verbs=get;list;watch
func (r *FrigateReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

func (r *FrigateReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&shipv1.Frigate{}).Complete(r)
}
