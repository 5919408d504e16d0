#!/usr/bin/env python3
"""The chart without a cluster: what Helm renders, and whether careen understands it.

Usage: chart_test.py CAREEN"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import yaml  # noqa: E402

from chart import CHART, ROOT, VALUES, find, helm, objects, render, values_flags  # noqa: E402
from pod_security import restricted, restricted_v2  # noqa: E402

CAREEN = None
METRIC = r"\b(?:careen|maintenance_controller|leader_election|process|controller_runtime|workqueue)_[a-z_]+"


class ChartTest(unittest.TestCase):

    def each(self):
        for name in VALUES:
            with self.subTest(values=name):
                yield name

    def test_lint(self):
        for name in self.each():
            result = helm("lint", "--strict", CHART, *values_flags(name))
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_wrong_values_are_refused(self):
        for wrong, told in (("controllers={profile}", "controllers"), ("replica=2", "replica"),
                            ("webhook.certificate=none", "certificate"), ("metrics.port=80", "port"),
                            ("webhook.certificate=secret,webhook.caBundle=YQ==", "existingSecret"),
                            ("config.existingSecret=a,config.existingConfigMap=b", "exclude each other"),
                            ("profiles.leaseNamespaces={other}", "profiles.leaseNames"),
                            ("config.maintenance=- {name: a\\, type: stagger\\, config: {}}", "profiles.leaseNames"),
                            ("networkPolicy.metricsFrom={everybody}", "metricsFrom"),
                            ("machines.kubeconfigs={fleet}", "kubeconfigs"),
                            ("controllers={machines},machines.kubeconfigs[0].namespace=a,"
                             "machines.kubeconfigs[1].namespace=a", "the namespace a twice"),
                            ("serviceAccount.create=false", "serviceAccount.name")):
            with self.subTest(wrong):
                result = helm("template", "careen", CHART, "--set", wrong)
                self.assertNotEqual(result.returncode, 0, result.stdout)
                self.assertIn(told, result.stderr)

    def test_all_values_are_documented(self):
        """The schema knows exactly the values of values.yaml."""
        def keys(value, path=""):
            for key, inner in value.items():
                yield f"{path}{key}"
                if inner.get("properties"):
                    yield from keys(inner["properties"], f"{path}{key}.")
        schema = json.loads((CHART / "values.schema.json").read_text())
        values = yaml.safe_load((CHART / "values.yaml").read_text())
        for path in keys(schema["properties"]):
            if path == "global":
                continue  # of charts that have this one inside
            place = values
            for part in path.split("."):
                self.assertIn(part, place, f"{path} is in values.schema.json and not in values.yaml")
                place = place[part]
        self.assertEqual(helm("lint", "--strict", CHART).returncode, 0)  # and refuses what it does not know

    def test_version(self):
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
        project = re.search(r"^project\(careen VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)
        self.assertEqual((chart["version"], chart["appVersion"]), (project, project))

    def test_plain_manifests_are_the_charts(self):
        result = subprocess.run([ROOT / "tools/manifests", "--check"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True)
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_careen_knows_the_flags(self):
        help_text = subprocess.run([CAREEN, "run", "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
        known = set(re.findall(r"--[a-z][a-z0-9-]+", help_text))
        for name in self.each():
            container = find(objects(render(name)), "Deployment")["spec"]["template"]["spec"]["containers"][0]
            self.assertEqual(container["command"], ["/usr/bin/careen", "run"])
            # --help after them makes careen read all and do nothing; a wrong value ends with code 2.
            result = subprocess.run([CAREEN, "run", *container["args"], "--help"], stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True)
            self.assertEqual(result.returncode, 0, result.stdout)
            self.assertEqual({flag.split("=")[0] for flag in container["args"]} - known, set())

    def test_configuration_is_valid(self):
        for name in ("default", "profiles", "hub"):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                secret = find(objects(render(name)), "Secret", "careen-config")
                path = pathlib.Path(folder, "maintenance.yaml")
                path.write_text(secret["stringData"]["maintenance.yaml"])
                result = subprocess.run([CAREEN, "validate", "--strict", path], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
                self.assertEqual(result.returncode, 0, result.stdout)

    def test_rights_follow_the_controllers(self):
        """Each right is there with the value that asks for it, and not without."""
        def rights(*flags, values="default"):
            return {(group, resource, verb) for role in objects(render(values, *flags))
                    if role["kind"] in ("Role", "ClusterRole")
                    and not role["metadata"]["name"].endswith(("-editor", "-viewer"))
                    for rule in role["rules"] if "resources" in rule for group in rule["apiGroups"]
                    for resource in rule["resources"] for verb in rule["verbs"]}

        deletion = ("", "pods", "delete")
        eviction = ("", "pods/eviction", "create")
        maintenances = ("nodemaintenance.medik8s.io", "nodemaintenances", "patch")
        secrets = ("", "secrets", "get")
        reviews = ("authentication.k8s.io", "tokenreviews", "create")
        status = ("", "nodes/status", "patch")
        both = rights()
        self.assertLessEqual({eviction, maintenances, secrets, reviews}, both)
        self.assertFalse({deletion, status} & both)
        self.assertNotIn(reviews, rights("--set", "dashboard.auth=none"))
        self.assertIn(reviews, rights("--set", "dashboard.auth=none,metrics.secure=true"))
        self.assertFalse({right for right in both if "*" in right})
        profiles = rights("--set", "controllers={profiles}")
        self.assertIn(eviction, profiles)
        self.assertFalse({maintenances, secrets} & profiles)
        self.assertNotIn(eviction, rights("--set", "controllers={profiles},profiles.drain=false"))
        self.assertIn(deletion, rights("--set", "controllers={profiles},profiles.forceEviction=true"))
        self.assertLessEqual({deletion, status, reviews}, rights(values="nodemaintenance"))
        self.assertNotIn(secrets, rights(values="nodemaintenance"))
        approve = ("repairman.k8s.io", "maintenancerequests", "patch")
        attached, workloads = ("storage.k8s.io", "volumeattachments", "list"), ("apps", "deployments", "list")
        requests = rights("--set", "controllers={requests}")
        self.assertLessEqual({approve, eviction, attached, workloads}, requests)
        self.assertFalse({right for right in requests if "*" in right} | {deletion, secrets} & requests)
        self.assertNotIn(approve, both)
        self.assertIn(("repairman.k8s.io", "maintenancelimits", "list"), both)
        few = rights("--set", "controllers={requests},requests.drain=false,requests.infraDrain=false,"
                              "requests.workloads=false")
        self.assertFalse({eviction, attached, workloads, ("", "pods", "list")} & few)
        self.assertFalse([one for one in objects(render("default", "--set", "rbac.create=false"))
                          if one["apiVersion"].startswith("rbac")])

    def test_machines_alone_get_what_they_need_and_no_more(self):
        """Nothing about nodes or pods of the management cluster, but for the replica that leads."""
        def rights(*flags):
            return {(role["metadata"].get("namespace"), group, resource, name, verb)
                    for role in objects(render("default", "--set", "controllers={machines}", *flags))
                    if role["kind"] in ("Role", "ClusterRole") and not role["metadata"]["name"].endswith("-viewer")
                    for rule in role["rules"] if "resources" in rule for group in rule["apiGroups"]
                    for resource in rule["resources"] for name in rule.get("resourceNames", [None])
                    for verb in rule["verbs"]}

        def of(place, group, resource, verbs, name=None):
            return {(place, group, resource, name, verb) for verb in verbs.split()}
        here, leases = "careen-test", "coordination.k8s.io"
        base = (of(None, "", "events", "create patch")
                | of(None, "cluster.x-k8s.io", "machines", "get list watch patch")
                | of(None, "authentication.k8s.io", "tokenreviews", "create")
                | of(None, "authorization.k8s.io", "subjectaccessreviews", "create")
                | of(here, leases, "leases", "create")
                | of(here, leases, "leases", "get list watch update patch", "runtime-extension-maintenance-controller")
                | of(here, leases, "leases", "get list watch", "careen-pause")
                | of(here, "", "pods", "get")
                | of(here, "", "serviceaccounts/token", "create", "careen"))
        everywhere = of(None, "", "secrets", "list watch")
        self.assertEqual(rights(), base | everywhere)
        self.assertEqual(rights("--set", "machines.metal3=true"),
                         base | everywhere | of(None, "metal3.io", "baremetalhosts", "get list watch patch"))
        named = ("--set", "machines.kubeconfigs[0].namespace=fleet,machines.kubeconfigs[0].clusters={eu-1,eu-2},"
                          "machines.kubeconfigs[1].namespace=lab")
        self.assertEqual(rights(*named), base | of("lab", "", "secrets", "list watch")
                         | of("fleet", "", "secrets", "list watch", "eu-1-kubeconfig")
                         | of("fleet", "", "secrets", "list watch", "eu-2-kubeconfig"))
        self.assertEqual(rights("--set", "machines.upgradeWindows=true,machines.pauseNodeHealthChecks=true"),
                         base | everywhere | of(None, "cluster.x-k8s.io", "clusters", "get list watch patch"))
        hub = (of(None, "cluster.x-k8s.io", "clusters", "list watch")
               | of(None, "cluster.x-k8s.io", "machinesets", "list watch")
               | of(None, "cluster.x-k8s.io", "machinedrainrules", "list watch")
               | of(None, "repairman.k8s.io", "maintenancelimits", "list watch"))
        ledger = "get list watch update patch"
        self.assertEqual(rights("--set", "machines.hub.enabled=true"), base | everywhere | hub | of(here, leases, "leases", ledger))
        named = ("--set", "machines.hub.enabled=true,machines.kubeconfigs[0].namespace=fleet,machines.kubeconfigs[0].clusters={eu-1}")
        self.assertEqual(rights(*named), base | hub | of("fleet", "", "secrets", "list watch", "eu-1-kubeconfig")
                         | of(here, leases, "leases", ledger, "careen-ledger.fleet.eu-1"))
        both = rights("--set", "controllers={requests,machines}")
        self.assertLessEqual(base | everywhere | of(None, "", "nodes", "get list watch patch"), both)

    def test_leases_are_named(self):
        """Of the leases in careen's namespace and in those of stagger, careen may change its own and those that values
        name; only creating, and watching a namespace, cannot be limited to names."""
        locks = {"profiles": {"maintenance-controller-leader-election.cloud.sap"},
                 "nodemaintenance": {"135b1886.medik8s.io"}, "requests": set(),
                 "machines": {"runtime-extension-maintenance-controller"}}
        for name in self.each():
            documents = objects(render(name))
            arguments = find(documents, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]
            controllers = arguments[0].removeprefix("--controllers=").split(",")
            changed = {}
            for role in (one for one in documents if one["kind"] in ("Role", "ClusterRole")):
                place = role["metadata"].get("namespace")
                for rule in (one for one in role["rules"] if "leases" in one.get("resources", [])):
                    self.assertNotEqual(place, None, "leases of all namespaces")
                    if place == "medik8s-leases":
                        continue  # for this purpose alone; their names are those of the nodes
                    if not rule.get("resourceNames"):  # an empty list means all
                        self.assertLessEqual(set(rule["verbs"]), {"create", "list", "watch"}, role["metadata"]["name"])
                    elif {"update", "patch", "delete"} & set(rule["verbs"]):
                        changed.setdefault(place, set()).update(rule["resourceNames"])
            own = set().union(*(locks[one] for one in controllers))
            if "profiles" in controllers:
                own.add("careen-ledger")
            if "nodemaintenance" in controllers and "requests" not in controllers:
                own.add("careen-ledger-nodemaintenance")
            if name == "hub":
                own |= {"careen-ledger.fleet.eu-1", "careen-ledger.fleet.eu-2"}
            told = {"maintenance-stagger-0", "maintenance-stagger-1", "slack-thread"}
            wanted = {"careen-test": own} if own else {}
            if name == "profiles":
                wanted = {"careen-test": own | told, "default": told, "kube-system": told}
            self.assertEqual(changed, wanted)

    def test_config_maps_are_named(self):
        """The lock of requests, and their ledger where profiles do not run; nothing about ConfigMaps without requests."""
        lock, ledger = "controller-leader-election-helper", "careen-ledger-requests"
        for controllers, wanted in (("requests", [lock, ledger]), ("nodemaintenance,requests", [lock, ledger]),
                                    ("profiles,requests", [lock]), ("profiles,nodemaintenance", None)):
            rules = [(role["metadata"].get("namespace"), rule) for role in objects(
                render("default", "--set", f"controllers={{{controllers}}}")) if role["kind"] in ("Role", "ClusterRole")
                for rule in role["rules"] if "configmaps" in rule.get("resources", [])]
            self.assertEqual({place for place, _ in rules}, {"careen-test"} if wanted else set())
            changing = [rule for _, rule in rules if rule["verbs"] != ["create"]]
            self.assertEqual([rule.get("resourceNames") for rule in changing], [wanted] if wanted else [])

    def test_only_careen_approves_where_that_is_wanted(self):
        self.assertIsNone(find(objects(render("default", "--set", "controllers={requests}")), "ValidatingAdmissionPolicy"))
        documents = objects(render("requests"))
        policy = find(documents, "ValidatingAdmissionPolicy")["spec"]
        self.assertEqual(find(documents, "ValidatingAdmissionPolicyBinding")["spec"]["policyName"], "careen-requests")
        self.assertIn("system:serviceaccount:careen-test:careen'", policy["variables"][0]["expression"])
        result = helm("template", "careen", CHART, "--kube-version", "1.29.0", *values_flags("requests"))
        self.assertIn("needs Kubernetes 1.30", result.stderr)

    def test_names_of_leases_are_those_of_the_code(self):
        code = "".join((ROOT / "src" / path).read_text() for path in (
            "controllers/profiles/names.h", "controllers/nodemaintenance/names.h", "controllers/requests/names.h",
            "controllers/machines/names.h", "budget/ledger.h", "budget/pause.h"))
        rendered = render("default", "--set", "controllers={profiles,nodemaintenance,requests,machines}")
        for name in ("maintenance-controller-leader-election.cloud.sap", "135b1886.medik8s.io", "careen-ledger",
                     "careen-pause", "controller-leader-election-helper", "runtime-extension-maintenance-controller"):
            self.assertIn(f'"{name}"', code)
            self.assertIn(name, rendered)

    def test_plain_rights_live_in_a_namespace_of_their_own(self):
        namespaces = {one["metadata"].get("namespace") for one in objects((ROOT / "deploy/rbac.yaml").read_text())}
        self.assertEqual(namespaces, {None, "careen-system", "default"})

    def test_the_token_is_mounted_where_it_is_needed(self):
        """And it is mounted even when somebody else made the account."""
        for name in self.each():
            documents = objects(render(name))
            if account := find(documents, "ServiceAccount"):
                self.assertIs(account["automountServiceAccountToken"], False)
            pod = find(documents, "Deployment")["spec"]["template"]["spec"]
            self.assertIs(pod["automountServiceAccountToken"], True)
            self.assertIs(pod["enableServiceLinks"], False)
            self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})

    def test_pods_start_under_the_strictest_rules(self):
        """Those of Pod Security and of OpenShift: no user and group unless somebody asks for them."""
        for name in self.each():
            pod = find(objects(render(name)), "Deployment")["spec"]["template"]["spec"]
            self.assertEqual(restricted_v2(pod), [])
            self.assertTrue(pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"])
        plain = find(objects((ROOT / "deploy/manifests/careen.yaml").read_text()), "Deployment")
        self.assertEqual(restricted_v2(plain["spec"]["template"]["spec"]), [])
        asked = ["--set", "podSecurityContext.runAsUser=65532,podSecurityContext.fsGroup=65532,"
                          "securityContext.privileged=true"]
        pod = find(objects(render("default", *asked)), "Deployment")["spec"]["template"]["spec"]
        self.assertEqual(pod["securityContext"]["runAsUser"], 65532)
        self.assertEqual(restricted(pod), ["careen is privileged"])
        self.assertEqual(restricted_v2(pod)[1:], ["fixes runAsUser", "fixes fsGroup"])

    def test_scheduled_as_the_original_was(self):
        """Tolerations, preferred nodes and priority of node-maintenance-operator, all of them values."""
        pod = find(objects(render("default")), "Deployment")["spec"]["template"]["spec"]
        role = "node-role.kubernetes.io/"
        self.assertEqual({(one["key"], one["operator"], one["effect"]) for one in pod["tolerations"]},
                         {(role + key, "Exists", "NoSchedule") for key in ("master", "control-plane", "infra")}
                         | {(role + "infra", "Exists", "NoExecute")})
        preferred = pod["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
        # Without its third one, for which API servers print a warning: a master has the other label, too.
        self.assertEqual([(one["weight"], one["preference"]["matchExpressions"][0]["key"]) for one in preferred],
                         [(3, role + "infra"), (1, role + "control-plane")])
        self.assertIn("podAntiAffinity", pod["affinity"])
        self.assertEqual(pod["priorityClassName"], "system-cluster-critical")
        other = ["--set", "nodeAffinity=null,antiAffinity=none,tolerations=null,priorityClassName="]
        pod = find(objects(render("default", *other)), "Deployment")["spec"]["template"]["spec"]
        self.assertFalse({"affinity", "tolerations", "priorityClassName"} & set(pod))
        pod = find(objects(render("default", "--set", "affinity.podAffinity.x=1")), "Deployment")
        self.assertEqual(set(pod["spec"]["template"]["spec"]["affinity"]), {"podAffinity"})

    def test_a_class_of_the_system_brings_its_quota(self):
        """Where the class is one of the system's, and not in kube-system, which has a quota of its own."""
        quota = find(objects(render("default")), "ResourceQuota")
        self.assertEqual(quota["spec"]["scopeSelector"]["matchExpressions"],
                         [{"scopeName": "PriorityClass", "operator": "In", "values": ["system-cluster-critical"]}])
        for flags in (["--set", "priorityClassQuota=false"], ["--set", "priorityClassName=mine"],
                      ["--set", "priorityClassName="], ["--namespace", "kube-system"]):
            self.assertIsNone(find(objects(render("default", *flags)), "ResourceQuota"), flags)

    def test_network_policy(self):
        """Off by default. On, each port of the pods is open to whom the values name, and no other port."""
        self.assertIsNone(find(objects(render("default")), "NetworkPolicy"))
        for name in self.each():
            documents = objects(render(name, "--set", "networkPolicy.enabled=true"))
            pod = find(documents, "Deployment")["spec"]["template"]
            spec = find(documents, "NetworkPolicy")["spec"]
            self.assertLessEqual(spec["podSelector"]["matchLabels"].items(), pod["metadata"]["labels"].items())
            self.assertEqual(spec["policyTypes"], ["Ingress"])
            ports = {port["containerPort"]: port["name"] for port in pod["spec"]["containers"][0]["ports"]}
            peers = {ports[rule["ports"][0]["port"]]: rule.get("from") for rule in spec["ingress"]}
            self.assertEqual(set(peers), set(ports.values()))
            self.assertEqual(len(spec["ingress"]), len(ports))
            # The replicas ask each other; a value says who else may. Probes and webhook are open to all unless values
            # limit them.
            self.assertEqual(peers["metrics"][0], {"podSelector": spec["podSelector"]})
            if name == "profiles":
                self.assertEqual(peers["metrics"][1:], [{
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}},
                    "podSelector": {"matchLabels": {"app.kubernetes.io/name": "prometheus"}}}])
            else:
                self.assertEqual(len(peers["metrics"]), 1)
            told = name == "nodemaintenance"
            self.assertEqual(peers["health"], [{"ipBlock": {"cidr": "10.0.0.0/8"}}] if told else None)
            if "webhook" in peers:
                self.assertEqual(peers["webhook"], [{"ipBlock": {"cidr": "10.1.0.0/16"}}] if told else None)

    def test_a_dry_run_registers_no_webhook(self):
        """Nobody would serve it, and with the policy Fail nobody could create a NodeMaintenance."""
        rehearsal = objects(render("rehearsal"))
        self.assertIsNone(find(rehearsal, "ValidatingWebhookConfiguration"))
        self.assertIsNone(find(rehearsal, "Service", "careen-webhook"))
        container = find(rehearsal, "Deployment")["spec"]["template"]["spec"]["containers"][0]
        self.assertIn("--dry-run", container["args"])
        self.assertFalse([flag for flag in container["args"] if flag.startswith("--webhook")])
        self.assertNotIn("webhook", [port["name"] for port in container["ports"]])
        self.assertLessEqual({"--restore-cordon=false", "--correct-drift=false"}, set(container["args"]))

    def test_the_webhook_is_called_for_what_the_crd_does_not_refuse(self):
        """Not for careen's own writes of finalizers, wherever the API server can tell them apart."""
        def webhook(*flags):
            return find(objects(render("default", *flags)), "ValidatingWebhookConfiguration")["webhooks"][0]

        def operations(*flags):
            return webhook(*flags)["rules"][0]["operations"]
        self.assertEqual(operations(), ["CREATE"])
        self.assertNotIn("matchConditions", webhook())
        wanted = ("--set", "webhook.onUpdate=true")
        self.assertEqual(operations(*wanted), ["CREATE", "UPDATE"])
        self.assertIn("nodeName", webhook(*wanted)["matchConditions"][0]["expression"])
        self.assertNotIn("matchConditions", webhook(*wanted, "--kube-version", "1.27.0"))
        self.assertEqual(webhook()["rules"][0]["resources"], ["nodemaintenances"], "not their status")

    def test_host_network(self):
        pod = find(objects(render("default", "--set", "hostNetwork=true")), "Deployment")["spec"]["template"]["spec"]
        self.assertTrue(pod["hostNetwork"])
        self.assertEqual(pod["dnsPolicy"], "ClusterFirstWithHostNet")
        self.assertNotIn("hostNetwork", find(objects(render("default")), "Deployment")["spec"]["template"]["spec"])

    def test_roles_are_bound(self):
        """Every role but those for people is bound to careen's account, under its own name."""
        for name in self.each():
            documents = objects(render(name))
            account = find(documents, "Deployment")["spec"]["template"]["spec"]["serviceAccountName"]
            place = lambda one: (one["metadata"].get("namespace"), one["metadata"]["name"])  # noqa: E731
            for kind in ("Role", "ClusterRole"):
                bound = set()
                for binding in (one for one in documents if one["kind"] == kind + "Binding"):
                    self.assertEqual(binding["subjects"], [{"kind": "ServiceAccount", "name": account,
                                                            "namespace": "careen-test"}])
                    self.assertEqual(binding["roleRef"]["kind"], kind)
                    bound.add((binding["metadata"].get("namespace"), binding["roleRef"]["name"]))
                self.assertEqual(bound, {place(one) for one in documents if one["kind"] == kind
                                         and not place(one)[1].endswith(("-actor", "-editor", "-viewer",
                                                                          "-metrics-reader"))})

    def test_selectors_find_the_pods(self):
        for name in self.each():
            documents = objects(render(name))
            deployment = find(documents, "Deployment")
            labels = deployment["spec"]["template"]["metadata"]["labels"].items()
            ports = {port["name"] for port in deployment["spec"]["template"]["spec"]["containers"][0]["ports"]}
            self.assertLessEqual(deployment["spec"]["selector"]["matchLabels"].items(), labels)
            for service in (one for one in documents if one["kind"] == "Service"):
                self.assertLessEqual(service["spec"]["selector"].items(), labels)
                self.assertIn(service["spec"]["ports"][0]["targetPort"], ports)
            if budget := find(documents, "PodDisruptionBudget"):
                self.assertLessEqual(budget["spec"]["selector"]["matchLabels"].items(), labels)
            if monitor := find(documents, "ServiceMonitor"):
                service = find(documents, "Service", deployment["metadata"]["name"] + "-metrics")
                self.assertLessEqual(monitor["spec"]["selector"]["matchLabels"].items(),
                                     service["metadata"]["labels"].items())
                self.assertEqual(monitor["spec"]["endpoints"][0]["port"], service["spec"]["ports"][0]["name"])

    def test_metrics_exist(self):
        """What alerts and dashboards ask for is what careen counts."""
        known = set()
        for path in (ROOT / "src").rglob("*"):
            if path.suffix in (".cc", ".h") and not path.name.endswith("_test.cc"):
                known |= set(re.findall(rf'"({METRIC})"', path.read_text()))
        for path in (CHART / "alerts.yaml", *(CHART / "dashboards").glob("*.json")):
            used = set(re.findall(METRIC, path.read_text()))
            self.assertTrue(used)
            self.assertEqual(used - known, set(), path.name)

    def test_prometheus_takes_the_alerts(self):
        for name in ("profiles", "nodemaintenance", "machines"):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                rules = pathlib.Path(folder, "rules.yaml")
                rules.write_text(yaml.safe_dump(find(objects(render(name)), "PrometheusRule")["spec"]))
                result = subprocess.run(["promtool", "check", "rules", rules], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
                self.assertEqual(result.returncode, 0, result.stdout)

    def test_dashboards_are_whole(self):
        data = find(objects(render("profiles")), "ConfigMap", "careen-dashboards")["data"]
        self.assertEqual(set(data), {path.name for path in (CHART / "dashboards").glob("*.json")})
        for text in data.values():
            self.assertTrue(json.loads(text)["panels"])


if __name__ == "__main__":
    CAREEN = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
