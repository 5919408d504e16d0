"""Plays the baremetal-operator on one BareMetalHost: what it does about power (manageHostPower of its 0.13).

What cannot be had without hardware is asked for by annotations: `testcluster/servicing: "true"` means that firmware is
to be changed while the host is off, which takes until the annotation goes, or fails when it is "fails". The annotation
`testcluster/reboots` counts how often a host that may not be powered off was rebooted instead.
"""

import json

PATH = "/apis/metal3.io/v1alpha1/baremetalhosts"
_REBOOT = "reboot.metal3.io"
_SERVICING, _REBOOTS = "testcluster/servicing", "testcluster/reboots"
_LEFT_ALONE = ("baremetalhost.metal3.io/paused", "baremetalhost.metal3.io/detached")
_PROVISIONED = ("provisioned", "externally provisioned")
_MERGE = "application/merge-patch+json"


def play(client, host):
    """The next step, if there is one."""
    metadata, status = host["metadata"], host.get("status", {})
    annotations = metadata.get("annotations", {})
    state = status.get("provisioning", {}).get("state")
    if not state or any(key in annotations for key in _LEFT_ALONE):
        return
    path = f"/apis/metal3.io/v1alpha1/namespaces/{metadata['namespace']}/baremetalhosts/{metadata['name']}"

    def annotate(key, value):
        client.call("PATCH", path, {"metadata": {"annotations": {key: value}}}, _MERGE, attempts=1)

    def tell(**changes):
        client.call("PATCH", path + "/status", {"status": changes}, _MERGE, attempts=1)

    on, online, provisioned = status.get("poweredOn", False), host["spec"]["online"], state in _PROVISIONED
    if not on and _REBOOT in annotations:
        annotate(_REBOOT, None)
        return
    serviced = _service(annotations.get(_SERVICING), status, provisioned and not on and online)
    if serviced is not None:
        if serviced:
            tell(**serviced)
        return
    wanted = online and not _asked_to_reboot(annotations, not provisioned)
    if wanted == on:
        return
    if not wanted and host["spec"].get("disablePowerOff"):
        # It comes back by itself, so an annotation with a key has it rebooted again and again; one without a key is
        # gone with the count, so that no stale view of it counts twice.
        count = str(int(annotations.get(_REBOOTS, "0")) + 1)
        client.call("PATCH", path, {"metadata": {"resourceVersion": metadata["resourceVersion"],
                                                 "annotations": {_REBOOTS: count, _REBOOT: None}}}, _MERGE, attempts=1)
        return
    tell(poweredOn=wanted)


def _service(wish, status, allowed):
    """What it says of the firmware: None when that is none of its business now, {} when nothing changes."""
    running = status.get("operationalStatus") == "servicing" or status.get("errorType") == "servicing error"
    if not running and not (allowed and wish):
        return None
    if wish == "fails":
        says = {"operationalStatus": "error", "errorType": "servicing error", "errorMessage": "the firmware was refused"}
    elif wish:
        says = {"operationalStatus": "servicing", "errorType": None, "errorMessage": ""}
    else:
        says = {"operationalStatus": "OK", "errorType": None, "errorMessage": ""}
    return {} if all(status.get(key) == value for key, value in says.items()) else says


def _asked_to_reboot(annotations, only_by_force):
    for key, value in annotations.items():
        if key != _REBOOT and not key.startswith(_REBOOT + "/"):
            continue
        try:
            force = bool(json.loads(value).get("force")) if value else False
        except (ValueError, AttributeError):
            force = False
        if force or not only_by_force:
            return True
    return False
