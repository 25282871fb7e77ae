package v1

// +kubebuilder:webhook:path=/mutate-crew-example-com-v1-captain,mutating=true,failurePolicy=fail,sideEffects=None,groups=crew.example.com,resources=captains,verbs=create;update,versions=v1,name=mcaptain-v1.kb.io,admissionReviewVersions=v1
type CaptainDefaulter struct{}

// +kubebuilder:webhook:path=/check-captains,mutating=false,failurePolicy=ignore,sideEffects=None,groups=crew.example.com,resources=captains,verbs=create;update;delete,versions=v1,name=vcaptain-v1.kb.io,admissionReviewVersions=v1
type CaptainValidator struct{}
