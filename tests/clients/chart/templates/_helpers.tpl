{{- define "lamp.labels" -}}
app.kubernetes.io/name: lamp
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
{{- define "lamp.selector" -}}
app.kubernetes.io/name: lamp
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
