#!/bin/sh
# kubeconfig.sh ACCOUNT FILE: a kubeconfig with which a program is that ServiceAccount of the current namespace.
set -e
kubectl config view --raw >"$2"
kubectl --kubeconfig "$2" config set-credentials "$1" --token="$(kubectl create token "$1")"
kubectl --kubeconfig "$2" config set-context --current --user="$1"
