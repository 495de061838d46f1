#!/bin/sh
# kubeconfig.sh [-n NAMESPACE] ACCOUNT FILE
#
# Writes FILE: a kubeconfig with which a program is that ServiceAccount, and nobody else.  The cluster is that of
# $KUBECONFIG, whose user has to be allowed to ask for tokens; its namespace counts where none is given.
set -eu
umask 077

fail() {
    echo "kubeconfig.sh: $1" >&2
    exit 1
}

namespace=$(kubectl config view --minify -o 'jsonpath={.contexts[0].context.namespace}')
while getopts n: option; do
    case $option in
    n) namespace=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -eq 2 ] || fail "which ServiceAccount, and which file? kubeconfig.sh [-n NAMESPACE] ACCOUNT FILE"
account=$1 file=$2 namespace=${namespace:-default}

server=$(kubectl config view --minify -o 'jsonpath={.clusters[0].cluster.server}')
case $server in
https://*) ;;
*) fail "kubectl sends a token over https only, not to $server, where who sends none is the administrator: \
start the simulator with --tls-self-signed" ;;
esac

token=$(kubectl create token "$account" --namespace "$namespace")
new=$(mktemp "$file.XXXXXX")
trap 'rm -f "$new"' EXIT
kubectl config view --raw --minify --flatten >"$new"
kubectl --kubeconfig "$new" config unset users >/dev/null
kubectl --kubeconfig "$new" config set-credentials "$account" --token="$token"
kubectl --kubeconfig "$new" config set-context --current --user="$account" --namespace="$namespace"
mv "$new" "$file"
