"""Pods, their evictions and their disruption budgets: operations as those of operations.py, also a function of a seed.

The first part is every answer an eviction can get, each with a pod and a budget of its own, in random order. The second
is random: pods and budgets are created, read, listed, changed, evicted and deleted, rightly and wrongly.
"""

import random as random_module

from kinds import KINDS
from operations import JSON, MERGE, STRATEGIC, TABLE

NAMESPACE = "conf-a"
PODS = KINDS["pods"].collection(NAMESPACE)
BUDGETS = KINDS["poddisruptionbudgets"].collection(NAMESPACE)
OTHER_UID = "11111111-2222-3333-4444-555555555555"
TIME = "2026-01-02T03:04:05Z"


def pod(name, node=None, app=None, **spec):
    """One that no admission plugin adds volumes to."""
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": [{"name": "c", "image": "registry.example/i:1"}],
                     "automountServiceAccountToken": False, **spec}}
    if node:
        body["spec"]["nodeName"] = node
    if app:
        body["metadata"]["labels"] = {"app": app}
    return body


def conditions(ready):
    return [{"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": TIME}]


class PodGenerator:
    def __init__(self, seed):
        self.random = random_module.Random(f"pods {seed}")
        self._cases = 0
        self._going = f"conf-going-{seed}"

    def operations(self, count):
        made = self._begin()
        cases = [self._no_budget, self._grace, self._two_budgets, self._unseen, self._nothing_allowed, self._sync_failed,
                 self._other_reason, self._granted, self._many_granted, self._unhealthy, self._unhealthy_always,
                 self._unhealthy_none_wanted, self._wrong_uid, self._wrong_version, self._right_preconditions,
                 self._pending, self._unbound, self._finished, self._terminating, self._dry_run, self._wrong_body,
                 self._held, self._selectors, self._shorter, self._absent]
        self.random.shuffle(cases)
        for case in cases:
            self._cases += 1
            made.extend(case(f"p{self._cases}", f"b{self._cases}", f"x{self._cases}"))
        while len(made) < count:
            made.append(self._any())
        made.extend(self._going_namespace())
        return [{"number": number, **operation} for number, operation in enumerate(made)]

    # --- parts ---------------------------------------------------------------

    def _begin(self):
        made = []
        for name in ("n1", "n2"):
            made.append(dict(what="node", method="POST", path="/api/v1/nodes", type=JSON, body={"metadata": {"name": name}}))
        for number, collection in enumerate((PODS, BUDGETS), 1):
            made.append(dict(what="watch", method="GET", path=collection, query={"watch": "1"}, watch=number,
                             fresh=collection))
        made.append(dict(what="watch of a node", method="GET", path=KINDS["pods"].collection(None), watch=3,
                         query={"watch": "1", "fieldSelector": "spec.nodeName=n1"}, fresh=PODS))
        return made

    @staticmethod
    def _create(body):
        return dict(what="create pod", method="POST", path=PODS, type=JSON, body=body)

    @staticmethod
    def _report(name, phase="Running", ready=True):
        """What a kubelet would say."""
        return dict(what="status of a pod", method="PATCH", path=f"{PODS}/{name}/status", type=STRATEGIC,
                    body={"status": {"phase": phase, "conditions": conditions(ready)}})

    def _running(self, name, app, ready=True):
        return [self._create(pod(name, self.random.choice(["n1", "n2"]), app)), self._report(name, ready=ready)]

    @staticmethod
    def _budget(name, app, **spec):
        return dict(what="create budget", method="POST", path=BUDGETS, type=JSON, body={
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": {"app": app}}, **(spec or {"minAvailable": 1})}})

    @staticmethod
    def _count(name, **status):
        """What the disruption controller would say."""
        return dict(what="status of a budget", method="PATCH", path=f"{BUDGETS}/{name}/status", type=MERGE,
                    body={"status": {"observedGeneration": 1, "expectedPods": 3, **status}})

    @staticmethod
    def _evict(name, options=None, query=None, **change):
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": NAMESPACE}}
        if options is not None:
            body["deleteOptions"] = options
        body.update(change)
        return dict(what="evict", method="POST", path=f"{PODS}/{name}/eviction", query=query or {}, type=JSON, body=body)

    @staticmethod
    def _look(*names):
        return [dict(what="look", method="GET", path=f"{PODS if name[0] == 'p' else BUDGETS}/{name}") for name in names]

    @staticmethod
    def _delete(name, **options):
        operation = dict(what="delete pod", method="DELETE", path=f"{PODS}/{name}")
        return {**operation, "type": JSON, "body": options} if options else operation

    # --- what an eviction can meet -------------------------------------------

    def _no_budget(self, name, budget, app):
        return [*self._running(name, app), self._evict(name), *self._look(name), self._evict(name), *self._look(name)]

    def _grace(self, name, budget, app):
        return [*self._running(name, app), self._evict(name, {"gracePeriodSeconds": 7}), *self._look(name),
                self._evict(name, {"gracePeriodSeconds": 0}), *self._look(name)]

    def _two_budgets(self, name, budget, app):
        return [*self._running(name, app), self._budget(budget, app), self._budget(budget + "-b", app), self._evict(name),
                self._evict(name, {"dryRun": ["All"]})]

    def _unseen(self, name, budget, app):
        return [*self._running(name, app), self._budget(budget, app), self._evict(name),
                self._count(budget, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1),
                dict(what="patch budget", method="PATCH", path=f"{BUDGETS}/{budget}", type=MERGE,
                     body={"spec": {"minAvailable": 2}}),
                self._evict(name), *self._look(budget)]

    def _nothing_allowed(self, name, budget, app):
        return [*self._running(name, app), self._budget(budget, app),
                self._count(budget, disruptionsAllowed=0, currentHealthy=1, desiredHealthy=2), self._evict(name),
                self._evict(name, {"dryRun": ["All"]}), self._evict(name, {"preconditions": {"uid": OTHER_UID}}),
                self._count(budget, disruptionsAllowed=0, currentHealthy=3, desiredHealthy=2), self._evict(name)]

    @staticmethod
    def _condition(reason, message):
        return [{"type": "DisruptionAllowed", "status": "False", "reason": reason, "message": message,
                 "lastTransitionTime": TIME, "observedGeneration": 1}]

    def _sync_failed(self, name, budget, app):
        return [*self._running(name, app), self._budget(budget, app, maxUnavailable="10%"),
                self._count(budget, disruptionsAllowed=0, conditions=self._condition("SyncFailed", "it cannot be counted")),
                self._evict(name)]

    def _other_reason(self, name, budget, app):
        return [*self._running(name, app), self._budget(budget, app),
                self._count(budget, disruptionsAllowed=0, currentHealthy=3, desiredHealthy=2,
                            conditions=self._condition("InsufficientPods", "so it is")), self._evict(name)]

    def _granted(self, name, budget, app):
        return [*self._running(name, app), self._budget(budget, app),
                self._count(budget, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1), self._evict(name),
                *self._look(name, budget), self._evict(name), *self._look(budget)]

    def _many_granted(self, name, budget, app):
        names = [name, name + "-b", name + "-c"]
        return [*[step for one in names for step in self._running(one, app)], self._budget(budget, app),
                self._count(budget, disruptionsAllowed=2, currentHealthy=3, desiredHealthy=1),
                *[step for one in names for step in (self._evict(one), *self._look(budget))]]

    def _unhealthy(self, name, budget, app):
        return [*self._running(name, app, ready=False), self._budget(budget, app),
                self._count(budget, disruptionsAllowed=0, currentHealthy=0, desiredHealthy=1), self._evict(name),
                self._count(budget, disruptionsAllowed=0, currentHealthy=1, desiredHealthy=1), self._evict(name),
                *self._look(name, budget)]

    def _unhealthy_always(self, name, budget, app):
        return [*self._running(name, app, ready=False),
                self._budget(budget, app, minAvailable=3, unhealthyPodEvictionPolicy="AlwaysAllow"), self._evict(name),
                *self._look(name, budget)]

    def _unhealthy_none_wanted(self, name, budget, app):
        return [*self._running(name, app, ready=False),
                self._budget(budget, app, minAvailable=0, unhealthyPodEvictionPolicy="IfHealthyBudget"),
                self._count(budget, disruptionsAllowed=0, currentHealthy=0, desiredHealthy=0), self._evict(name)]

    def _wrong_uid(self, name, budget, app):
        return [*self._running(name, app), self._budget(budget, app),
                self._count(budget, disruptionsAllowed=2, currentHealthy=3, desiredHealthy=1),
                self._evict(name, {"preconditions": {"uid": OTHER_UID}}), *self._look(name, budget)]

    def _wrong_version(self, name, budget, app):
        return [*self._running(name, app), self._evict(name, {"preconditions": {"resourceVersion": "1"}}),
                *self._look(name)]

    def _right_preconditions(self, name, budget, app):
        path = f"{PODS}/{name}"
        return [*self._running(name, app), *self._look(name),
                self._evict(name, {"preconditions": {"uid": f"$uid:{path}:0", "resourceVersion": f"$version:{path}:0"}}),
                *self._look(name)]

    def _pending(self, name, budget, app):
        return [self._create(pod(name, "n1", app)), self._budget(budget, app), self._evict(name), *self._look(name, budget)]

    def _unbound(self, name, budget, app):
        return [self._create(pod(name, None, app)), self._budget(budget, app), self._evict(name), *self._look(name)]

    def _finished(self, name, budget, app):
        phase = self.random.choice(["Succeeded", "Failed"])
        return [*self._running(name, app), self._report(name, phase, False), self._budget(budget, app), self._evict(name),
                *self._look(name)]

    def _terminating(self, name, budget, app):
        return [*self._running(name, app), self._budget(budget, app), self._delete(name), self._evict(name),
                *self._look(name, budget), self._evict(name, {"gracePeriodSeconds": 3}), *self._look(name)]

    def _dry_run(self, name, budget, app):
        return [*self._running(name, app), self._budget(budget, app),
                self._count(budget, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1),
                self._evict(name, {"dryRun": ["All"]}), self._evict(name, query={"dryRun": "All"}),
                self._evict(name, {"dryRun": ["All"], "preconditions": {"uid": OTHER_UID}}),
                self._evict(name, {"dryRun": ["Some"]}, {"dryRun": "All"}),
                self._evict(name, {}, {"dryRun": "Some"}), *self._look(name, budget)]

    def _wrong_body(self, name, budget, app):
        return [*self._running(name, app), self._evict(name, metadata={"name": "other"}),
                self._evict(name, metadata={"name": name, "namespace": "conf-b"}), self._evict(name, kind="Pod", apiVersion="v1"),
                self._evict(name, kind="Nonsense"), self._evict(name, metadata={}),
                self._evict(name, {"gracePeriodSeconds": "soon"}), self._evict(name, {"propagationPolicy": "Sometimes"}),
                dict(what="no body", method="POST", path=f"{PODS}/{name}/eviction", type=JSON, raw="{"),
                dict(what="get eviction", method="GET", path=f"{PODS}/{name}/eviction"),
                self._evict(name, apiVersion="policy/v1beta1")]

    def _held(self, name, budget, app):
        body = pod(name, "n1", app)
        body["metadata"]["finalizers"] = ["example.com/hold"]
        return [self._create(body), self._report(name), self._evict(name, {"gracePeriodSeconds": 0}), *self._look(name),
                self._evict(name), dict(what="finalize", method="PATCH", path=f"{PODS}/{name}", type=MERGE,
                                        body={"metadata": {"finalizers": None}}), *self._look(name)]

    def _selectors(self, name, budget, app):
        """Which budgets are a pod's: nothing selects none, all of them select all."""
        made = self._running(name, app)
        for number, selector in enumerate([None, {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": [app]}]},
                                           {"matchLabels": {"app": app}, "matchExpressions": [
                                               {"key": "app", "operator": "Exists"},
                                               {"key": "no", "operator": "DoesNotExist"}]}]):
            body = self._budget(f"{budget}-{number}", app)
            body["body"]["spec"]["selector"] = selector
            made += [body, self._count(f"{budget}-{number}", disruptionsAllowed=0, currentHealthy=number, desiredHealthy=5)]
        # It would be one budget too many for all others.
        made += [self._evict(name), dict(what="delete budget", method="DELETE", path=f"{BUDGETS}/{budget}-1")]
        return made

    def _shorter(self, name, budget, app):
        return [*self._running(name, app), self._delete(name, gracePeriodSeconds=60), self._delete(name),
                self._delete(name, gracePeriodSeconds=90), self._delete(name, gracePeriodSeconds=20),
                self._delete(name, gracePeriodSeconds=-5), *self._look(name), self._delete(name, gracePeriodSeconds=0),
                *self._look(name)]

    def _absent(self, name, budget, app):
        absent = self._evict(name)
        return [absent, {**absent, "path": absent["path"].replace(NAMESPACE, "conf-absent"),
                         "body": {**absent["body"], "metadata": {"name": name}}}]

    def _going_namespace(self):
        """Last, because that namespace does not come back."""
        collection = KINDS["pods"].collection(self._going)
        body = self._evict("p1")["body"]
        return [dict(what="namespace", method="POST", path="/api/v1/namespaces", type=JSON,
                     body={"metadata": {"name": self._going}}, unseen=True),
                dict(what="account", method="POST", path=f"/api/v1/namespaces/{self._going}/serviceaccounts", type=JSON,
                     body={"metadata": {"name": "default"}}, unseen=True),
                dict(what="create pod", method="POST", path=collection, type=JSON, body=pod("p1", "n1")),
                dict(what="namespace goes", method="DELETE", path=f"/api/v1/namespaces/{self._going}", unseen=True),
                dict(what="evict from it", method="POST", path=f"{collection}/p1/eviction", type=JSON,
                     body={**body, "metadata": {"name": "p1"}}),
                dict(what="delete from it", method="DELETE", path=f"{collection}/p1", type=JSON,
                     body={"gracePeriodSeconds": 0})]

    # --- anything ------------------------------------------------------------

    def _any(self):
        choices = [(self._any_create, 8), (self._any_status, 6), (self._any_list, 6), (self._any_change, 5),
                   (self._any_delete, 5), (self._any_evict, 8), (self._any_budget, 6), (self._any_count, 6), (self._any_bind, 2)]
        makers, weights = zip(*choices)
        return self.random.choices(makers, weights)[0]()

    def _name(self):
        return f"pr{self.random.randint(1, 5)}"

    def _any_create(self):
        body = pod(self._name(), self.random.choice(["n1", "n2", None]), self.random.choice(["a", "b", None]))
        draw = self.random.random()
        if draw < 0.2:
            body["spec"]["terminationGracePeriodSeconds"] = self.random.choice([0, 5])
        elif draw < 0.3:
            body["metadata"]["finalizers"] = ["example.com/hold"]
        elif draw < 0.4:
            body["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "owner",
                                                    "uid": OTHER_UID, "controller": True, "blockOwnerDeletion": True}]
        elif draw < 0.5:
            body["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m", "memory": "64Mi"}}
        elif draw < 0.6:
            body["spec"]["tolerations"] = [{"operator": "Exists"}]
        return self._create(body)

    def _any_status(self):
        return self._report(self._name(), self.random.choice(["Running", "Running", "Running", "Succeeded", "Pending"]),
                            self.random.random() < 0.7)

    def _any_list(self):
        query = self.random.choice([
            {"fieldSelector": "spec.nodeName=n1"}, {"fieldSelector": "spec.nodeName!=n1"}, {"fieldSelector": "spec.nodeName="},
            {"fieldSelector": "status.phase=Running,spec.nodeName=n2"}, {"labelSelector": "app=a"}, {},
            {"fieldSelector": "spec.restartPolicy=Always", "labelSelector": "app in (a,b)"}, {"limit": "3"},
            {"fieldSelector": "spec.nonsense=1"}, {"fieldSelector": "spec.schedulerName=default-scheduler"}])
        path = self.random.choice([PODS, PODS, KINDS["pods"].collection(None)])
        return dict(what="list pods", method="GET", path=path, query=query)

    def _any_change(self):
        body = self.random.choice([{"metadata": {"labels": {"app": self.random.choice(["a", "b", None])}}},
                                   {"metadata": {"annotations": {"note": "x"}}}, {"metadata": {"finalizers": None}}])
        return dict(what="change pod", method="PATCH", path=f"{PODS}/{self._name()}",
                    type=self.random.choice([MERGE, STRATEGIC]), body=body)

    def _any_delete(self):
        options = self.random.choice([{}, {}, {"gracePeriodSeconds": 0}, {"gracePeriodSeconds": 10},
                                      {"gracePeriodSeconds": -1}, {"preconditions": {"uid": OTHER_UID}},
                                      {"gracePeriodSeconds": 5, "dryRun": ["All"]}])
        return self._delete(self._name(), **options)

    def _any_evict(self):
        # Not with preconditions: on a pod that ignores budgets the real server tries again for ten seconds.
        options = self.random.choice([None, None, {}, {"gracePeriodSeconds": 4}, {"dryRun": ["All"]}])
        return self._evict(self._name(), options)

    def _any_budget(self):
        name = self.random.choice(["br1", "br2"])
        path = f"{BUDGETS}/{name}"
        spec = self.random.choice([{"minAvailable": 1}, {"minAvailable": "50%"}, {"maxUnavailable": 0},
                                   {"maxUnavailable": "10%"}, {}, {"minAvailable": 1, "unhealthyPodEvictionPolicy": "AlwaysAllow"}])
        create = self._budget(name, "a" if name == "br1" else "b")
        create["body"]["spec"] = {"selector": create["body"]["spec"]["selector"], **spec}
        return self.random.choice([
            create, create, create,
            dict(what="patch budget", method="PATCH", path=path, type=MERGE,
                 body={"spec": {"minAvailable": None, "maxUnavailable": None, **spec}}),
            dict(what="delete budget", method="DELETE", path=path),
            dict(what="get budget", method="GET", path=path),
            dict(what="list budgets", method="GET", path=BUDGETS, query={"limit": "2"}),
            dict(what="update budget", method="PUT", path=path, type=JSON,
                 body={"$object": path, "age": 0, "edits": [["set", ["spec", "unhealthyPodEvictionPolicy"], "IfHealthyBudget"]]}),
        ])

    def _any_count(self):
        return self._count(self.random.choice(["br1", "br2"]), disruptionsAllowed=self.random.randint(0, 2),
                           currentHealthy=self.random.randint(0, 3), desiredHealthy=self.random.randint(0, 2),
                           observedGeneration=self.random.choice([1, 9, 9]))

    def _any_bind(self):
        name = self._name()
        return dict(what="bind", method="POST", path=f"{PODS}/{name}/binding", type=JSON,
                    body={"apiVersion": "v1", "kind": "Binding",
                          "metadata": {"name": name if self.random.random() < 0.9 else "other"},
                          "target": {"apiVersion": "v1", "kind": "Node", "name": self.random.choice(["n1", "n2"])}})
