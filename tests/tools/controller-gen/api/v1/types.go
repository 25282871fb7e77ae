// Package v1 has a kind with the type of Kubernetes' own that embeds the most others.
// +groupName=batch.tutorial.kubebuilder.io
package v1

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CronJobSpec has the field of the CronJob of kubebuilder's book that takes a type of Kubernetes.
type CronJobSpec struct {
	JobTemplate batchv1.JobTemplateSpec `json:"jobTemplate"`
}

// CronJob is the kind.
// +kubebuilder:object:root=true
type CronJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              CronJobSpec `json:"spec"`
}
