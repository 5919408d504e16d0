"""The hand-written cases: data sets, and templates that are rendered with each of them."""

FULL = {
    "state": "in-maintenance", "profile": "flatcar", "last": "kernel", "lastTransition": "2026-03-01T10:20:30.5Z",
    "inMaintenance": True, "logDetails": False,
    "node": {
        "kind": "Node", "apiVersion": "v1",
        "metadata": {
            "name": "node-1", "uid": "0b2f", "resourceVersion": "17", "generation": 3,
            "creationTimestamp": "2025-12-31T23:59:58Z", "deletionTimestamp": "2026-03-05T01:02:03Z",
            "deletionGracePeriodSeconds": 30,
            "labels": {"zone": "a", "b": "x & <y>", "empty": "", "ümlaut": "größe", "tab": "a\tb\"c'\u2028"},
            "annotations": {"example_net": "1.2.3", "n": "5"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "o", "uid": "u"}],
            "finalizers": ["f/one", "f/two", "f/three"]},
        "spec": {"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24", "fd00::/64"], "providerID": "openstack:///1-2",
                 "unschedulable": True,
                 "taints": [{"key": "k1", "effect": "NoSchedule", "value": "v1", "timeAdded": "2026-01-02T03:04:05Z"},
                            {"key": "k2", "effect": "NoExecute"}]},
        "status": {"phase": "Running",
                   "capacity": {"cpu": "4", "memory": "16393244Ki", "pods": "110", "ephemeral-storage": "101330012Ki",
                                "hugepages-2Mi": "0"},
                   "allocatable": {"cpu": "3920m", "memory": "15Gi", "pods": "1e2", "ephemeral-storage": "93386534G"},
                   "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ok",
                                   "lastHeartbeatTime": "2026-03-01T10:00:00Z",
                                   "lastTransitionTime": "2026-02-01T10:00:00Z"},
                                  {"type": "DiskPressure", "status": "False"}],
                   "addresses": [{"type": "InternalIP", "address": "10.1.2.3"}, {"type": "Hostname", "address": "h"}],
                   "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
                   "nodeInfo": {"kubeletVersion": "v1.33.1", "osImage": "Flatcar <1>", "architecture": "amd64"},
                   "images": [{"names": ["a:1", "b:2"], "sizeBytes": 123456789}],
                   "volumesInUse": ["vol/1"]}}}

BARE = {"state": "", "profile": "", "last": "", "lastTransition": "0001-01-01T00:00:00Z", "inMaintenance": False,
        "logDetails": False, "node": {"metadata": {"name": "n"}}}

DATA = [FULL, BARE]

TEMPLATES = r"""
{{ .Node.Name }} is now {{ .State }} ({{ .Profile }})
{{ .Node.Name }}: {{ index .Node.Labels "zone" }} -> {{ index .Node.Annotations "none" }}|
{{ if eq .State "in-maintenance" }}started{{ else }}waiting{{ end }} {{- with index .Node.Labels "zone" }} (zone {{ . }}){{ end }}
{{.}
{{
{{.State
{{.State}
}}{{.State}}{{
{{- .State -}}
a  {{- .State -}}  b
a {{-.State}} b
a {{- -3 -}} b
a {{.State -}} b {{- .State}} c
{{/* comment */}}x
a {{- /* c */ -}} b
{{/* c */ }}
{{ /* c */}}
{{/* c
{{/**/}}
{{-/* c */-}}
{{"a"}}{{`b\n`}}{{'c'}}{{"\u00e9\x41\101\n"}}
{{"unterminated}}
{{`unterminated}}
{{'x}}
{{''}}{{'ab'}}
{{'\n'}} {{'\''}} {{'é'}} {{'\x41'}} {{'\377'}} {{'\u1234'}}
{{"\q"}}
{{"\'"}}
{{"\ud800"}}
{{"\400"}}
{{1}} {{-1}} {{+1}} {{0x1F}} {{0b101}} {{0o17}} {{017}} {{1_000}} {{0x_ff}}
{{08}}
{{1__0}}
{{1_}}
{{0x}}
{{1.5}} {{1e3}} {{.5}} {{1.}} {{1e+20}} {{1e21}} {{123456789.0}} {{0.0001}} {{0.00001}} {{100000.0}} {{1000000.0}}
{{0x1p4}} {{0x1.8p1}} {{1_0.5}} {{-1.5e-7}}
{{0x1.8}}
{{1e}}
{{1e999}}
{{1e-999}}
{{9223372036854775807}} {{-9223372036854775808}}
{{9223372036854775808}}
{{18446744073709551616}}
{{1a}}
{{true}} {{false}} {{not true}}
{{nil}}
{{print nil}} {{printf "%v %d %s" nil nil nil}}
{{true.x}}
{{"a".x}}
{{nil.x}}
{{1.x}}
{{..}}
{{.State.}}
{{.State.x}}
{{.State .State}}
{{.Nope}}
{{.node}}
{{.Node.Nmae}}
{{.Node.Labels}}
{{.Node.Labels.zone}} {{.Node.Labels.none}} {{.Node.Labels.none.more}}
{{.Node.Labels.zone.more}}
{{.Node.Labels.ümlaut}}
{{.Node.ObjectMeta.Name}} {{.Node.TypeMeta.Kind}} {{.Node.Kind}}/{{.Node.APIVersion}}
{{.Node.Generation}} {{.Node.UID}} {{.Node.ResourceVersion}} {{.Node.Namespace}}|
{{.Node.DeletionGracePeriodSeconds}} {{.Node.DeletionTimestamp}}
{{if .Node.DeletionTimestamp}}deleting since {{.Node.DeletionTimestamp.Unix}}{{end}}
{{.Node.DeletionTimestamp.IsZero}} {{.Node.CreationTimestamp.IsZero}}
{{.Node.DeletionTimestamp.Year}}
{{.Node.DeletionTimestamp.Time}}
{{.Node.CreationTimestamp}} {{.LastTransition}}
{{.Node.CreationTimestamp.Time.Unix}} {{.LastTransition.UnixMilli}} {{.LastTransition.UnixMicro}} {{.LastTransition.UnixNano}}
{{.LastTransition.Year}} {{.LastTransition.Month}} {{.LastTransition.Day}} {{.LastTransition.Weekday}} {{.LastTransition.YearDay}} {{.LastTransition.Nanosecond}}
{{printf "%d %s %v %q %x" .LastTransition.Month .LastTransition.Month .LastTransition.Month .LastTransition.Month .LastTransition.Month}}
{{.LastTransition.Month.String}} {{.LastTransition.Hour}}:{{.LastTransition.Minute}}:{{.LastTransition.Second}}
{{.LastTransition.Format "2006-01-02T15:04:05Z07:00"}}
{{.LastTransition.Format "Mon Jan _2 15:04:05 MST 2006"}} {{.LastTransition.Format "Monday, 02-Jan-06 3:04:5PM -0700"}}
{{.LastTransition.Format "January 2 2006 pm 03 04 05 .000 .999 ,000 .000000 __2 002 -07:00 Z0700 -07 Z07 -07:00:00 -070000 Z070000"}}
{{.LastTransition.Format "Janet Mondays _2006 2006_01 1 15 06 0006 .0001 .9999999999 .00 x"}}
{{.LastTransition.UTC.Format "15:04"}} {{.LastTransition | printf "%s"}} {{"15:04" | .LastTransition.Format}}
{{.LastTransition.Format}}
{{.LastTransition.Format 3}}
{{.LastTransition.Format "a" "b"}}
{{.LastTransition.Format nil}}
{{.LastTransition.Format .Node.Labels.zone}}
{{.LastTransition.Nope}}
{{.LastTransition.Unix 3}}
{{.Node.GetName}} {{.Node.GetNamespace}}| {{.Node.GetUID}} {{.Node.GetResourceVersion}} {{.Node.GetGeneration}} {{.Node.GetGenerateName}}| {{.Node.GetSelfLink}}|
{{.Node.GetLabels}} {{.Node.GetLabels.zone}} {{index .Node.GetLabels "zone"}} {{.Node.GetAnnotations}} {{.Node.GetAnnotations.none}}
{{range $k, $v := .Node.GetLabels}}{{$k}}={{$v}};{{end}}{{len .Node.GetFinalizers}}{{range .Node.GetFinalizers}}{{.}}{{end}}
{{.Node.GetCreationTimestamp}} {{.Node.GetCreationTimestamp.Unix}} {{.Node.GetCreationTimestamp.Format "15:04"}} {{.Node.GetCreationTimestamp.Time.Year}}
{{.Node.GetDeletionTimestamp}} {{if .Node.GetDeletionTimestamp}}{{.Node.GetDeletionTimestamp.Unix}}{{end}} {{.Node.GetDeletionTimestamp.IsZero}}
{{.Node.GetDeletionGracePeriodSeconds}} {{range .Node.GetOwnerReferences}}{{.Kind}}/{{.Name}}{{end}} {{.Node.ObjectMeta.GetName}} {{$n := .Node}}{{$n.GetName}}
{{.Node.GetNope}}
{{.Node.GetSpec}}
{{.Node.GetKind}}
{{.GetState}}
{{.Node.Spec.GetPodCIDR}}
{{.Node.GetName "x"}}
{{.Node.SetName "x"}}
{{.Node.Labels.GetName}}
{{.LastTransition.Add 3600000000000}} {{.LastTransition.Add -1}} {{.LastTransition.Add 0}} {{(.LastTransition.Add 90000000000).Format "15:04:05"}}
{{.LastTransition.Add "1h"}}
{{.LastTransition.Add 1.5}}
{{.LastTransition.Add 1e9}} {{.LastTransition.Add 1_000}} {{.LastTransition.Add 'a'}}
{{.LastTransition.Add true}}
{{.LastTransition.Add nil}}
{{.LastTransition.Add}}
{{.LastTransition.Add 1 2}}
{{.LastTransition.Add .LastTransition}}
{{.LastTransition.Add (len "abc")}}
{{.LastTransition.Add .Node.Labels.none}}
{{3600000000000 | .LastTransition.Add}}
{{.LastTransition.AddDate 0 1 3}} {{.LastTransition.AddDate 1 -14 400}} {{.LastTransition.AddDate -2000 0 0}} {{(.LastTransition.AddDate 0 0 -1).Weekday}} {{.LastTransition.AddDate 12000 0 0}}
{{.LastTransition.AddDate 0 1 (len "abc")}} {{len "abc" | .LastTransition.AddDate 0 0}}
{{.LastTransition.AddDate 0 1}}
{{.LastTransition.AddDate 0 1 "x"}}
{{.LastTransition.Sub .LastTransition}} {{.LastTransition.Sub .Node.CreationTimestamp.Time}} {{(.LastTransition.Sub .Node.CreationTimestamp.Time).Hours}}
{{.LastTransition.Sub .Node.CreationTimestamp}}
{{.LastTransition.Sub nil}}
{{.LastTransition.Sub 3}}
{{.LastTransition.Sub (.LastTransition.AddDate -400 0 0)}} {{.LastTransition.Sub (.LastTransition.AddDate 400 0 0)}}
{{$d := (.LastTransition.Add 5025678901234).Sub .LastTransition}}{{$d}} {{$d.Hours}} {{$d.Minutes}} {{$d.Seconds}} {{$d.Milliseconds}} {{$d.Microseconds}} {{$d.Nanoseconds}} {{$d.String}} {{$d.Round 1000000000}} {{$d.Truncate 60000000000}} {{$d.Abs}} {{$d.Round $d}} {{printf "%v %s %d %T %5.1f" $d $d $d $d $d.Hours}}
{{$d := .LastTransition.Sub (.LastTransition.Add 5025678901234)}}{{$d}} {{$d.Hours}} {{$d.Seconds}} {{$d.Milliseconds}} {{$d.Round 1000000000}} {{$d.Round 60000000000}} {{$d.Truncate 60000000000}} {{$d.Abs}} {{$d.Round 0}} {{$d.Truncate -1}} {{$d.Round 9223372036854775807}}
{{$t := .LastTransition}}{{($t.Add 1).Sub $t}} {{($t.Add 999).Sub $t}} {{($t.Add 1500).Sub $t}} {{($t.Add 1000000).Sub $t}} {{($t.Add 1050000).Sub $t}} {{($t.Add 999999999).Sub $t}} {{($t.Add 1000000000).Sub $t}} {{($t.Add 60000000000).Sub $t}} {{($t.Add 3600000000000).Sub $t}} {{($t.Add 90061000000001).Sub $t}} {{$t.Sub ($t.Add 1500)}}
{{$d := .LastTransition.Sub .LastTransition}}{{if $d}}y{{else}}n{{end}} {{eq $d 0}} {{lt $d 3}} {{$d.Nope}}
{{if gt (.LastTransition.Sub .Node.CreationTimestamp.Time).Hours 24.0}}old{{else}}new{{end}}
{{.LastTransition.Before .Node.CreationTimestamp.Time}} {{.LastTransition.After .Node.CreationTimestamp.Time}} {{.LastTransition.Equal .LastTransition}} {{.LastTransition.Compare .Node.CreationTimestamp.Time}} {{.LastTransition.Before .LastTransition}}
{{.LastTransition.Before .Node.CreationTimestamp}}
{{.LastTransition.After .Node.DeletionTimestamp.Time}}
{{.Node.CreationTimestamp.Before .Node.DeletionTimestamp}} {{.Node.DeletionTimestamp.Before .Node.DeletionTimestamp}} {{.Node.DeletionTimestamp.Equal nil}} {{.Node.DeletionTimestamp.Equal .Node.DeletionTimestamp}} {{.Node.CreationTimestamp.Equal nil}} {{.Node.CreationTimestamp.Before nil}}
{{.Node.CreationTimestamp.Before .LastTransition}}
{{.Node.CreationTimestamp.After .LastTransition}} {{.Node.CreationTimestamp.Sub .LastTransition}} {{.Node.CreationTimestamp.Add 1000000000}} {{.Node.CreationTimestamp.Rfc3339Copy}} {{.Node.CreationTimestamp.Rfc3339Copy.Unix}} {{.Node.CreationTimestamp.DeepCopy}}
{{.Node.CreationTimestamp.Before .Node.CreationTimestamp}} {{range .Node.Status.Conditions}}{{$.Node.CreationTimestamp.Before .LastTransitionTime}} {{.LastTransitionTime.IsZero}} {{end}}
{{.Node.DeletionTimestamp.Add 3}}
{{.LastTransition.Truncate 3600000000000}} {{.LastTransition.Round 3600000000000}} {{.LastTransition.Truncate 1000000000}} {{.LastTransition.Round 1000000000}} {{.LastTransition.Round 7}} {{.LastTransition.Truncate 0}} {{.LastTransition.Truncate 604800000000000}}
{{.LastTransition.IsDST}} {{.LastTransition.GoString}} {{.LastTransition.Location}} {{.LastTransition.Location.String}} {{.LastTransition.In .LastTransition.Location}} {{.LastTransition.UTC.Local.UTC.Weekday.String}} {{.LastTransition.IsZero}} {{.LastTransition.String}}
{{printf "%#v %#10.4v|" .LastTransition .LastTransition}} {{printf "%#v" .Node.CreationTimestamp}} {{printf "%#v %x %5d %08v|%-12s|" (.LastTransition.Sub .LastTransition) (.LastTransition.Sub .LastTransition) (.LastTransition.Sub .LastTransition) (.LastTransition.Sub .LastTransition) (.LastTransition.Sub .LastTransition)}}
{{.LastTransition.Date}}
{{.LastTransition.Clock}}
{{.LastTransition.ISOWeek}}
{{.LastTransition.Zone}}
{{.LastTransition.Weekday}} {{printf "%d" .LastTransition.Weekday}} {{eq .LastTransition.Weekday 0}} {{eq .LastTransition.Weekday.String "Sunday"}} {{lt .LastTransition.Hour 12}}
{{.Node.Status.Capacity.Cpu}} {{.Node.Status.Capacity.Memory}} {{.Node.Status.Capacity.Pods}} {{.Node.Status.Capacity.StorageEphemeral}} {{.Node.Status.Capacity.Storage}}
{{.Node.Status.Capacity.Cpu.Value}} {{.Node.Status.Capacity.Memory.Value}} {{.Node.Status.Capacity.Pods.Value}} {{.Node.Status.Capacity.StorageEphemeral.Value}} {{.Node.Status.Capacity.Storage.Value}}
{{.Node.Status.Allocatable.Cpu.Value}} {{.Node.Status.Allocatable.Memory.Value}} {{.Node.Status.Allocatable.Pods.Value}} {{.Node.Status.Allocatable.StorageEphemeral.Value}}
{{.Node.Status.Allocatable.Cpu.MilliValue}} {{.Node.Status.Allocatable.Memory.MilliValue}} {{.Node.Status.Allocatable.Pods.MilliValue}} {{.Node.Status.Allocatable.Cpu.ScaledValue -6}} {{.Node.Status.Allocatable.Memory.ScaledValue 3}} {{.Node.Status.Allocatable.Cpu.ScaledValue 1}}
{{.Node.Status.Allocatable.Cpu.String}} {{.Node.Status.Allocatable.Cpu.IsZero}} {{.Node.Status.Capacity.Storage.IsZero}} {{.Node.Status.Allocatable.Cpu.Sign}} {{.Node.Status.Allocatable.Cpu.AsApproximateFloat64}} {{.Node.Status.Allocatable.Memory.AsApproximateFloat64}} {{.Node.Status.Allocatable.Cpu.AsFloat64Slow}}
{{.Node.Status.Allocatable.Cpu.Cmp .Node.Status.Capacity.Cpu}} {{.Node.Status.Allocatable.Cpu.Equal .Node.Status.Capacity.Cpu}} {{.Node.Status.Capacity.Cpu.Equal .Node.Status.Capacity.Cpu}} {{.Node.Status.Capacity.Cpu.CmpInt64 4}} {{.Node.Status.Capacity.Cpu.CmpInt64 -4}} {{.Node.Status.Capacity.Cpu.Cmp (index .Node.Status.Allocatable "cpu")}} {{.Node.Status.Capacity.Cpu.Cmp .Node.Status.Allocatable.cpu}}
{{(index .Node.Status.Capacity "cpu").Value}} {{.Node.Status.Capacity.memory.Value}}
{{.Node.GetCreationTimestamp.IsZero}}
{{.Node.Status.Capacity.Cpu.Cmp 4}}
{{.Node.Status.Capacity.Cpu.Cmp "4"}}
{{.Node.Status.Capacity.Cpu.Cmp nil}}
{{.Node.Status.Capacity.Cpu.CmpInt64 "4"}}
{{.Node.Status.Capacity.Cpu.Value 3}}
{{.Node.Status.Capacity.Cpu.Nope}}
{{.Node.Status.Capacity.Cpu.Add .Node.Status.Capacity.Cpu}}
{{.Node.Status.Capacity.Cpu.AsInt64}}
{{if gt .Node.Status.Capacity.Memory.Value 8589934592}}large{{else}}small{{end}} {{printf "%d cores" .Node.Status.Capacity.Cpu.Value}}
{{eq .LastTransition .LastTransition}} {{eq .LastTransition .Node.CreationTimestamp.Time}}
{{.InMaintenance}} {{.LogDetails}} {{if .InMaintenance}}y{{else if .LogDetails}}z{{else}}n{{end}}
{{if}}x{{end}}
{{if .State}}x
{{if .State}}x{{else}}y{{else}}z{{end}}
{{end}}
{{else}}
{{if true}}{{else if false}}{{else if true}}{{else}}{{end}}ok
{{if true}}{{else with}}{{end}}
{{with .State}}{{.}}{{else with .Node.Name}}{{.}}!{{else}}none{{end}}
{{with .Nope}}{{end}}
{{with $x := .State}}{{$x}}{{.}}{{else}}{{$x}}empty{{end}}
{{with .State}}{{$.Profile}}{{end}}
{{$x := 1}}{{if true}}{{$x := 2}}{{$x}}{{end}}{{$x}}
{{$x := 1}}{{if true}}{{$x = 2}}{{$x}}{{end}}{{$x}}
{{$x}}
{{$x = 1}}
{{$x := }}
{{$x := 1 := 2}}
{{$x, $y := 1}}
{{if true}}{{$x := 1}}{{end}}{{$x}}
{{$x := .Node}}{{$x.Name}}{{$x.Spec.ProviderID}}
{{$ := 1}}{{$}}
{{$.State}} {{$}}{{$1 := 3}}{{$1}}
{{range .Node.Finalizers}}<{{.}}>{{else}}none{{end}}
{{range $i, $f := .Node.Finalizers}}{{$i}}={{$f}},{{end}}
{{range $f := .Node.Finalizers}}{{$f}},{{else}}{{$f}}{{end}}
{{range $k, $v := .Node.Labels}}{{$k}}={{$v}};{{else}}empty {{$k}} {{$v}}{{end}}
{{range .Node.Labels}}{{.}};{{end}}
{{range $i, $f := .Node.Finalizers}}{{if eq $i 1}}{{continue}}{{end}}{{$f}}{{end}}
{{range .Node.Finalizers}}{{.}}{{break}}{{end}}.
{{range 3}}{{.}}{{end}} {{range $i := 2}}{{$i}}{{else}}e{{end}} {{range 0}}x{{else}}none{{end}} {{range -1}}x{{else}}neg{{end}}
{{range $i, $j := 3}}{{end}}
{{range .State}}x{{end}}
{{range .Node}}x{{end}}
{{range .Node.Spec}}x{{end}}
{{range nil}}x{{end}}
{{range .Node.Labels.none}}x{{else}}no{{end}}
{{range .Node.DeletionTimestamp}}x{{end}}
{{range 1.5}}x{{end}}
{{range true}}x{{end}}
{{range .Node.DeletionGracePeriodSeconds}}.{{end}}
{{$x := 0}}{{range $x = .Node.Finalizers}}{{$x}}{{end}}{{$x}}
{{$i := 0}}{{$x := 0}}{{range $i, $x = .Node.Finalizers}}{{$x}}{{end}}{{$i}}{{$x}}
{{range $i, $x, $y := .Node.Finalizers}}{{end}}
{{range $i, 3}}{{end}}
{{range $i, := .Node.Finalizers}}{{end}}
{{break}}
{{continue}}
{{range .Node.Finalizers}}{{break 3}}{{end}}
{{range .Node.Finalizers}}{{block "b" .}}{{break}}{{end}}{{end}}
{{range .Node.Finalizers}}{{else}}{{break}}{{end}}
{{range $i := 3}}{{range $j := 3}}{{if eq $j 1}}{{continue}}{{end}}{{if eq $i 1}}{{break}}{{end}}{{$i}}{{$j}} {{end}}{{end}}
{{range .Node.Spec.Taints}}{{.Key}}={{.Value}}:{{.Effect}} {{.TimeAdded}} {{end}}
{{range .Node.Spec.Taints}}{{if .TimeAdded}}{{.TimeAdded.Format "15:04"}}{{end}}{{end}}
{{range .Node.Status.Conditions}}{{if eq .Type "Ready"}}{{.Status}} {{.Reason}} {{.LastTransitionTime}}{{end}}{{end}}
{{range .Node.Status.Addresses}}{{.}} {{printf "%+v|%v" . .}} {{end}}
{{.Node.Status.Addresses}} {{.Node.Spec.PodCIDRs}} {{.Node.Status.VolumesInUse}}
{{printf "%#v %#v %#v" .Node.Status.Addresses .Node.Spec.PodCIDRs .Node.Labels}}
{{printf "%T %T %T %T %T %T %T" .Node.Status.Addresses .State 1 1.5 true .Node .LastTransition}}
{{range .Node.Status.Images}}{{.Names}} {{.SizeBytes}} {{index .Names 1}}{{end}}
{{.Node.Status.DaemonEndpoints.KubeletEndpoint.Port}} {{.Node.Status.DaemonEndpoints}}
{{eq .Node.Status.DaemonEndpoints.KubeletEndpoint.Port 10250}}
{{.Node.Status.NodeInfo.KubeletVersion}} {{.Node.Status.NodeInfo.Swap}}
{{.Node.Status.NodeInfo.Swap.Capacity}}
{{.Node.Status.NodeInfo.Swap.Nope}}
{{define "x"}}[{{.}}]{{end}}{{template "x" .State}}{{template "x"}}{{template "x" 3}}
{{define "x"}}{{$}}{{end}}{{$y := 1}}{{template "x" $y}}
{{define "x"}}{{$y}}{{end}}{{$y := 1}}
{{template "nope"}}
{{template nope}}
{{template "x" 1 2}}
{{template}}
{{define}}{{end}}
{{define "x"}}
{{define "x"}}{{else}}{{end}}
{{define "x"}}a{{end}}{{define "x"}}b{{end}}
{{define "x"}}{{end}}{{define "x"}}b{{end}}{{template "x"}}
{{define "x"}}a{{end}}{{define "x"}}  {{end}}{{template "x"}}
{{if true}}{{define "x"}}{{end}}{{end}}
{{define "message"}}self{{end}}
{{define "message"}}self{{end}}more
{{block "x" .State}}<{{.}}>{{end}}{{template "x" "again"}}
{{block "x"}}{{end}}
{{block .State .}}{{end}}
{{define "r"}}{{if .}}{{.}}{{template "r" (slice . 1)}}{{end}}{{end}}{{template "r" "abc"}}
{{and true 0 .Nope}}
{{and true .Nope}}
{{or false "x" .Nope}} {{or 0 ""}}| {{and 1 2}} {{or nil 3}}
{{and}}
{{true | and true}} {{false | or 0}} {{.Node.Labels.none | or 0}} {{1 | and}}
{{not}}
{{not nil}} {{not .State}} {{not .Node}} {{not .Node.Labels}}
{{not 1 2}}
{{eq 1 1}} {{eq 1 2 1}} {{eq "a" "b"}} {{ne 1 2}} {{lt 1 2}} {{le 2 2}} {{gt "b" "a"}} {{ge 1.5 1.5}}
{{eq 1 1.0}}
{{eq 1 "1"}}
{{eq 1}}
{{eq}}
{{ne 1 2 3}}
{{lt true false}}
{{lt 1 "a"}}
{{lt nil 1}}
{{eq nil nil}} {{eq .Node.Labels.none "x"}} {{eq "x" .Node.Labels.none}} {{eq .Node.Labels nil}} {{ne .Node nil}}
{{eq .Node.Labels .Node.Labels}}
{{eq .Node .Node}}
{{eq .Node.Spec .Node.Spec}}
{{eq .Node.Spec .Node.Labels}}
{{eq .Node.Status.DaemonEndpoints .Node.Status.DaemonEndpoints}}
{{eq .Node.Finalizers nil}} {{eq .Node.DeletionTimestamp nil}}
{{eq (index .State 0) 105}}
{{lt (index "abc" 0) 98}} {{ge 3 (index "abc" 0)}} {{eq 97 (index "abc" 0)}} {{lt -1 (index "abc" 0)}}
{{index .Node.Finalizers 0}}
{{index .Node.Finalizers 3}}
{{index .Node.Finalizers -1}}
{{index .Node.Finalizers "a"}}
{{index .Node.Finalizers nil}}
{{index .Node.Labels 1}}
{{index .Node.Labels nil}}
{{index .Node.Labels "none"}}|
{{index .Node.Status.Addresses 0 }} {{(index .Node.Status.Addresses 1).Address}}
{{index .Node.Status.Images 0 "x"}}
{{(index .Node.Status.Images 0).Names}} {{index (index .Node.Status.Images 0).Names 1}}
{{index nil}}
{{index nil 1}}
{{index .Node}}
{{index .Node 1}}
{{index "abc" 1}} {{index 3}}
{{index "abc" 3}}
{{index}}
{{slice "abcdef" 1 3}} {{slice "abc"}} {{slice "abc" 1}} {{slice .Node.Finalizers 0 0}}
{{slice "abc" 2 1}}
{{slice "abc" 1 4}}
{{slice "abc" 1 2 3}}
{{slice .Node.Finalizers 1}} {{slice .Node.Finalizers 0 1 2}} {{slice (slice .Node.Finalizers 0 1) 0 2}}
{{slice (slice .Node.Finalizers 0 1 1) 0 2}}
{{slice .Node.Labels 1}}
{{slice 3}}
{{slice nil}}
{{slice "a" "b"}}
{{len .State}} {{len .Node.Labels}} {{len .Node.Finalizers}} {{len "größe"}}
{{len 3}}
{{len nil}}
{{len .Node}}
{{.State | len}}
{{print 1 2 "a" "b" 3 4.5 true nil}} {{print}}| {{println 1 "a"}}{{println}}
{{print .Node.Labels.none}} {{print .Node.Spec.Taints}}
{{html "<a href='x'>\"&\x00" 3 4}} {{html .Node.Labels.none}} {{html nil}} {{.Node.Labels.b | html}} {{html}}|
{{js "it's \"<a>\" = \\ & \n é \u2028"}} {{js .Node.Labels.tab}} {{js 3 4}}
{{urlquery "a b&c=d/é~-_." 3}} {{urlquery .Node.Labels.b}}
{{call nil}}
{{call .State}}
{{printf}}
{{printf 3}}
{{printf nil}}
{{printf "%d"}}
{{printf "%d %d" 1}}
{{printf "x" 1 "a" nil true}}
{{printf "%"}}
{{printf "%!"}} {{printf "%z" 3}} {{printf "%-"}} {{printf "100%%"}}
{{printf "%s %v %d %t" "a" "b" "c" "d"}}
{{printf "%s %q %x %X" 1 65 "hi" "hi"}} {{printf "%t %v" true false}}
{{printf "%5d|%-5d|%05d|%+d|% d|%x|%X|%#x|%o|%#o|%O|%b|%#b|%c|%q|%U|%#U" 42 42 42 42 42 255 255 255 8 8 8 5 5 65 65 233 233}}
{{printf "%5d|%-5d|%05d|%+d|% d|%x|%06d|%+06d|% 06d" -42 -42 -42 -42 -42 -255 -42 42 42}}
{{printf "%.3d|%8.3d|%-8.3d|%08.3d|%.0d|%5.0d|%+.0d" 7 7 7 7 0 0 0}}
{{printf "%s|%10s|%-10s|%.2s|%10.2s|%010s|%q|%+q|%#q|%x|% x|%#x|% #x|%X|%.1x|%5.1x" "größe" "größe" "größe" "größe" "größe" "größe" "größe" "größe" "größe" "hi" "hi" "hi" "hi" "hi" "hi" "hi"}}
{{printf "%f|%.2f|%8.2f|%-8.2f|%08.2f|%+.1f|% f|%e|%.2e|%E|%g|%G|%.3g|%#g|%#.3g|%v" 3.14159 3.14159 3.14159 3.14159 3.14159 3.14159 3.14159 31415.9 31415.9 31415.9 1e-7 1e-7 1234567.0 1.0 1.0 2.5}}
{{printf "%g %g %g %g %g %g %.0f %.0f %6.3v|%x|%b" 100000.0 1000000.0 1e20 1e21 123456789.0 0.0001 0.5 1.5 3.14159 1.5 1.5}}
{{printf "%d %s %c" 1.5 1.5 1.5}} {{printf "%f" 1}} {{printf "%08.3f|%+08.3f|%-08.3f|" -1.5 1.5 1.5}}
{{printf "%v %+v %s %d %q %x" .Node.Labels .Node.Labels .Node.Labels .Node.Labels .Node.Labels .Node.Finalizers}}
{{printf "%5v|%-5v|%5v|%05v" true 1 nil "a"}} {{printf "%5t|%-7t|" true false}}
{{printf "%*d|%-*d|%.*f|%*s" 5 42 5 42 2 3.14159 -5 "a"}} {{printf "%*d" "a" 3}} {{printf "%.*d" -1 3}}
{{printf "%[2]d %[1]d" 1 2}} {{printf "%[3]d" 1}} {{printf "%[1]d %d" 1 2}} {{printf "%[x]d" 1}} {{printf "%[" 1}} {{printf "%[1]*d" 5}} {{printf "%[2]*[1]d|" 1 5}}
{{printf "%T %T" nil .State}} {{printf "%w" 3}} {{printf "%c%c%c" 65 233 1114112}} {{printf "%q %+q %q" 233 233 10}} {{printf "%U" -1}}
{{printf "%s" .Node.DeletionTimestamp}} {{printf "%v" .Node.CreationTimestamp}} {{printf "%20.10s|" .LastTransition}}
{{printf .State}} {{.State | printf}} {{"%s-%s" | printf}} {{.State | printf "%s-%s" "a"}}
{{printf .Node.Labels.none}}
{{printf "%s" (printf "%d" 3)}} {{(printf "a").x}}
{{print (1)}} {{(1)}} {{((.State))}} {{(.Node).Name}} {{(.Node.Labels).zone}}
{{()}}
{{(1}}
{{1)}}
{{print (}}
{{print ) }}
{{(1) 2}}
{{1 | (print)}}
{{1 2}}
{{1 | 2}}
{{"a" | print | print "b"}} {{"a" | printf "%s%s" "b" | len}} {{ . State }}
{{.State | }}
{{ | .State}}
{{.State || .State}}
{{.State|print|len}}
{{nope}}
{{nope .State}}
{{print.x}}
{{.State,}}
{{.State;}}
{{?}}
{{é}}
{{.é}}
{{a-b}}
{{.State-}}
{{:}}
{{:=}}
{{=}}
{{@}}
{{$x:=1}}{{$x}} {{$y :=2}}{{$y}}
{{(with .State)}}{{end}}
{{if .State}}{{end x}}
{{if .State}}{{else x}}{{end}}
{{if $x := .State}}{{$x}}{{else}}{{$x}}none{{end}}
{{with (index .Node.Labels "zone")}}{{.}}{{end}}{{with ($z := 3)}}{{$z}}{{.}}{{end}}{{$z}}
{{.Node.Labels.b | printf "%q" | html}}
{{.Node.Spec.Unschedulable | printf "%t %v" true}}
{{if and .InMaintenance (eq .State "in-maintenance") (not .LogDetails)}}all{{end}}
{{- "a" -}} {{"b"}} {{- "c"}}
{{true true}}
{{.Profile}} {{printf "%s %T" .Profile .Profile}} {{eq .Profile "flatcar"}} {{len .Profile}} {{.Current}} {{.Last}}
{{.Node.Name.Foo}}
{{.Node.Finalizers.Foo}}
{{.Node.Spec.Taints.Key}}
{{.InMaintenance.Foo}}
{{.Node.Name "x"}}
{{"x" | .Node.Name}}
{{.Node.Labels.zone "x"}}
{{.Node.Labels.none.x "y"}}
{{$x := .Node.Labels.none}}{{$x}}{{if $x}}y{{else}}n{{end}}
{{if .Node.Labels.none}}y{{else}}n{{end}} {{if 0.0}}y{{else}}n{{end}} {{if ""}}y{{else}}n{{end}} {{if .Node.Spec}}y{{end}}
""".strip("\n").split("\n") + [
    "", "\n", "plain\ntext\n", "{{\n.State\n}}", "a\n\n{{- .State -}}\n\nb", "{{.State -\n}}", "{{.State\n-}}\n x",
    "{{\"a\nb\"}}", "{{`a\nb`}}", "{{`a\r\nb`}}", "{{'\n'}}", "{{- \n .State \n -}}", "{{/* a\nb */}}", "{{.State}}{{- /* x */}} y",
    "  {{define \"message\"}}X{{end}}  ", "{{if true}}\n{{- end}}", "{{\t.State\t}}", "{{.State\x00}}", "{{\u00a0.State}}",
    "{" * 3 + ".State" + "}" * 3, "{{print " + "(" * 50 + "1" + ")" * 50 + "}}",
]
