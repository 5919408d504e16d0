"""What the strictest rules for pods say of one: the Pod Security profile `restricted`, and OpenShift's security context
constraint `restricted-v2`, under which every user may create pods."""

VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}


def _contexts(spec):
    return [spec.get("securityContext", {}), *(one.get("securityContext", {}) for one in _containers(spec))]


def _containers(spec):
    return [*spec.get("initContainers", []), *spec["containers"]]


def _of_container(spec, one):
    own, pod = one.get("securityContext", {}), spec.get("securityContext", {})
    dropped = own.get("capabilities", {}).get("drop", [])
    seccomp = own.get("seccompProfile", pod.get("seccompProfile", {})).get("type")
    if own.get("privileged"):
        yield "is privileged"
    if own.get("allowPrivilegeEscalation") is not False:
        yield "may escalate its privileges"
    if "ALL" not in dropped:
        yield "keeps capabilities"
    if set(own.get("capabilities", {}).get("add", [])) - {"NET_BIND_SERVICE"}:
        yield "adds capabilities"
    if own.get("runAsNonRoot", pod.get("runAsNonRoot")) is not True:
        yield "may run as root"
    if seccomp != "RuntimeDefault":
        yield f"has the seccomp profile {seccomp}"
    if own.get("procMount", "Default") != "Default":
        yield "has another /proc"
    if any("hostPort" in port for port in one.get("ports", [])):
        yield "takes ports of the node"


def restricted(spec):
    """What the profile `restricted` finds wrong with the spec of a pod."""
    found = [f"{one['name']} {what}" for one in _containers(spec) for what in _of_container(spec, one)]
    found += [f"uses {key}" for key in ("hostNetwork", "hostPID", "hostIPC") if spec.get(key)]
    for volume in spec.get("volumes") or []:
        found += [f"volume {volume['name']} is a {kind}" for kind in set(volume) - {"name"} - VOLUMES]
    for context in _contexts(spec):
        if context.get("runAsUser") == 0:
            found.append("runs as root")
        if context.get("sysctls") or context.get("seLinuxOptions"):
            found.append("sets sysctls or SELinux options")
    return found


def restricted_v2(spec):
    """What `restricted-v2` refuses as well: users and groups outside the namespace's own range, which nobody knows
    beforehand."""
    return restricted(spec) + [f"fixes {key}" for context in _contexts(spec)
                               for key in ("runAsUser", "fsGroup", "seLinuxOptions") if key in context]
