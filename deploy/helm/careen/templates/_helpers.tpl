{{- define "careen.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "careen.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains (include "careen.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "careen.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "careen.selectorLabels" -}}
app.kubernetes.io/name: {{ include "careen.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "careen.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "careen.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "careen.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "careen.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is needed when serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* "true" or nothing. */ -}}
{{- define "careen.profiles" -}}
{{- if has "profiles" .Values.controllers }}true{{ end -}}
{{- end -}}
{{- define "careen.nodemaintenance" -}}
{{- if has "nodemaintenance" .Values.controllers }}true{{ end -}}
{{- end -}}
{{- define "careen.requests" -}}
{{- if has "requests" .Values.controllers }}true{{ end -}}
{{- end -}}
{{- define "careen.machines" -}}
{{- if has "machines" .Values.controllers }}true{{ end -}}
{{- end -}}
{{- define "careen.hub" -}}
{{- if and (include "careen.machines" .) .Values.machines.hub.enabled }}true{{ end -}}
{{- end -}}
{{- /* Profiles are read, for this cluster or for others. */ -}}
{{- define "careen.readsProfiles" -}}
{{- if or (include "careen.profiles" .) (include "careen.hub" .) }}true{{ end -}}
{{- end -}}
{{- /* Something here is about the nodes of careen's own cluster: machines are about those of others. */ -}}
{{- define "careen.aboutNodes" -}}
{{- if without .Values.controllers "machines" }}true{{ end -}}
{{- end -}}
{{- /* A dry run serves none, so none is registered: it would keep everybody from creating objects. */ -}}
{{- define "careen.webhook" -}}
{{- if and .Values.webhook.enabled (has "nodemaintenance" .Values.controllers) (not .Values.dryRun) }}true{{ end -}}
{{- end -}}
{{- /* The webhook of limits of mode Queue and Enforce, which careen registers itself. */ -}}
{{- define "careen.limitWebhook" -}}
{{- if and .Values.limitWebhook.enabled (has "requests" .Values.controllers) (not .Values.dryRun) }}true{{ end -}}
{{- end -}}
{{- define "careen.servesWebhook" -}}
{{- if or (include "careen.webhook" .) (include "careen.limitWebhook" .) }}true{{ end -}}
{{- end -}}
{{- define "careen.selfSigned" -}}
{{- if and (include "careen.servesWebhook" .) (eq .Values.webhook.certificate "selfSigned") }}true{{ end -}}
{{- end -}}

{{- /* The leases that careen changes in its own namespace: locks, as the controllers are; ledger. */ -}}
{{- define "careen.ownLeases" -}}
{{- $names := list }}
{{- if include "careen.profiles" . }}{{ $names = append $names "maintenance-controller-leader-election.cloud.sap" }}{{ end }}
{{- if include "careen.nodemaintenance" . }}{{ $names = append $names "135b1886.medik8s.io" }}{{ end }}
{{- if include "careen.machines" . }}{{ $names = append $names "runtime-extension-maintenance-controller" }}{{ end }}
{{- /* With requests and without profiles the ledger is a ConfigMap: rbac-requests.yaml. That of nodemaintenance alone is
       always allowed, so that profiles can be switched off under the same rights. */ -}}
{{- if include "careen.profiles" . }}{{ $names = append $names "careen-ledger" }}{{ end }}
{{- if and (include "careen.nodemaintenance" .) (not (include "careen.requests" .)) }}{{ $names = append $names "careen-ledger-nodemaintenance" }}{{ end }}
{{- join ", " $names }}
{{- end -}}

{{- define "careen.webhookService" -}}{{ include "careen.fullname" . }}-webhook{{- end -}}
{{- define "careen.webhookSecret" -}}
{{- if eq .Values.webhook.certificate "secret" -}}
{{- required "webhook.existingSecret is needed when webhook.certificate is secret" .Values.webhook.existingSecret -}}
{{- else -}}
{{- include "careen.fullname" . }}-webhook-tls
{{- end -}}
{{- end -}}

{{- define "careen.metricsPort" -}}
{{- if .Values.metrics.secure }}{{ .Values.metrics.securePort }}{{ else }}{{ .Values.metrics.port }}{{ end -}}
{{- end -}}

{{- define "careen.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "careen.affinity" -}}
{{- if .Values.affinity }}
{{- toYaml .Values.affinity }}
{{- else }}
{{- with .Values.nodeAffinity }}
nodeAffinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if eq .Values.antiAffinity "hard" }}
podAntiAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
  - topologyKey: kubernetes.io/hostname
    labelSelector:
      matchLabels:
        {{- include "careen.selectorLabels" . | nindent 8 }}
{{- else if eq .Values.antiAffinity "soft" }}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
  - weight: 100
    podAffinityTerm:
      topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels:
          {{- include "careen.selectorLabels" . | nindent 10 }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* A binding of a role to careen's account: (dict "root" . "kind" "Role" "name" … "namespace" …). */ -}}
{{- define "careen.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .name }}
  {{- if .namespace }}
  namespace: {{ .namespace }}
  {{- end }}
  labels:
    {{- include "careen.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .name }}
subjects:
- kind: ServiceAccount
  name: {{ include "careen.serviceAccountName" .root }}
  namespace: {{ .root.Release.Namespace }}
{{- end -}}

{{- /* The head of a role, up to its rules; arguments as above. */ -}}
{{- define "careen.role" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}
metadata:
  name: {{ .name }}
  {{- if .namespace }}
  namespace: {{ .namespace }}
  {{- end }}
  labels:
    {{- include "careen.labels" .root | nindent 4 }}
{{- end -}}

{{/* Where Cluster API is in this cluster, too, drains heed its MachineDrainRules. */}}
{{- define "careen.drainRules" -}}
- apiGroups: [cluster.x-k8s.io]
  resources: [machinedrainrules, machines, clusters]
  verbs: [list, watch]
- apiGroups: [""]
  resources: [namespaces]
  verbs: [list, watch]
{{- end }}
