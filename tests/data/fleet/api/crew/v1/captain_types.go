package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CaptainSpec is what a captain is told.
type CaptainSpec struct {
	// rank is shown first, although `name` sorts before it.
	Rank Rank `json:"rank"`

	// +optional
	Name string `json:"name,omitempty"`
}

// Rank is how high a captain is.
// +kubebuilder:validation:Enum=junior;senior
type Rank string

const (
	// SeniorRank comes with a parrot.
	SeniorRank Rank = "senior"
	// JuniorRank comes with a hat.
	JuniorRank Rank = "junior"
)

type Captain struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec CaptainSpec `json:"spec"`
}
