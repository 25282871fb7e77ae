package crew

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	crewv1 "example.com/fleet/api/crew/v1"
)

type SailorReconciler struct{}

// +kubebuilder:rbac:groups=crew.example.com,resources=sailors,verbs=get;list;watch
func (r *SailorReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

func (r *SailorReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&crewv1.Sailor{}).Complete(r)
}

// BerthReconciler does a part of what the reconciler of sailors does: it is no controller.
type BerthReconciler struct{}

func (r *BerthReconciler) Reconcile(ctx context.Context, sailor *crewv1.Sailor) error {
	return nil
}
