# Tests the deployed operator in the cluster of the current kubeconfig; `make test-e2e` deploys it before, and
# deletes it afterwards. Add here what only a cluster shows.
#
# If a test fails, everything stays as it is, for you to look at; `make undeploy` deletes it.
set -eu

kubectl=${KUBECTL:-kubectl}
namespace=scaffold-system
# How long each sample may take, in seconds.
patience=180
# Kinds of samples that get no conditions, because no controller of this project reconciles them.
passive='ConfigMap|Secret'
samples="-k config/samples"

echo "Test: the first condition of each sample becomes True, unless its controller is not implemented yet"
condition='.status.conditions[0]'
columns=KIND:.kind,NAME:.metadata.name,TYPE:$condition.type,STATUS:$condition.status
columns=$columns,REASON:$condition.reason,MESSAGE:$condition.message
end=$(($(date +%s) + patience))
[ ! -d config/samples ] || $kubectl apply --server-side $samples
while [ -d config/samples ]; do
	table=$($kubectl get $samples --output=custom-columns="$columns")
	waiting=$(printf '%s\n' "$table" | awk -v passive="^($passive)\$" \
		'NR > 1 && $1 !~ passive && $4 != "True" && $5 != "NotImplemented"')
	[ -n "$waiting" ] || break
	if [ "$(date +%s)" -gt "$end" ]; then
		printf >&2 'error: after %s seconds, some of these samples are not as they should be:\n%s\n' $patience "$table"
		exit 1
	fi
	sleep 2
done

echo "Test: the manager serves metrics to an account that may read them, and to nobody else"
binding=scaffold-test-e2e
forward=
trap 'kill $forward; $kubectl delete clusterrolebinding $binding' EXIT
trap 'exit 1' INT TERM
$kubectl create clusterrolebinding $binding --clusterrole=scaffold-metrics-reader \
	--serviceaccount=$namespace:default --dry-run=client --output=yaml | $kubectl apply --server-side --filename=-
token=$($kubectl -n $namespace create token default)
$kubectl -n $namespace port-forward service/scaffold-controller-manager-metrics-service 18443:8443 >/dev/null &
forward=$!
read_metrics() {
	# Its certificate is self-signed. It takes a moment until the port is forwarded and the role is known.
	curl --insecure --silent --show-error --retry 30 --retry-delay 2 --retry-all-errors "$@" \
		https://127.0.0.1:18443/metrics
}
metrics=$(read_metrics --fail --header "Authorization: Bearer $token")
status=$(read_metrics --output /dev/null --write-out '%{http_code}')
case $metrics in
*'# EOF') ;;
*) printf >&2 'error: these metrics are not complete:\n%s\n' "$metrics" && exit 1 ;;
esac
[ "$status" = 401 ] || { echo >&2 "error: the manager answers status $status without a token, not 401" && exit 1; }

echo "Test: the samples can be deleted"
[ ! -d config/samples ] || $kubectl delete $samples --timeout=${patience}s
