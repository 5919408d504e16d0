"""Templates out of a grammar: mostly right ones, with now and then a wrong word or a character too few or too many."""

FIELDS = [".State", ".Profile", ".Node.Name", ".Node.Labels", ".Node.Labels.zone", ".Node.Labels.none", ".Node.Generation",
          ".Node.Finalizers", ".Node.Spec.Taints", ".Node.Spec.Unschedulable", ".Node.Spec.PodCIDRs", ".InMaintenance",
          ".LastTransition", ".Node.CreationTimestamp", ".Node.DeletionTimestamp", ".Node.DeletionGracePeriodSeconds",
          ".Node.Status.Addresses", ".Node.Status.Images", ".Node.Status.DaemonEndpoints.KubeletEndpoint.Port",
          ".Node.Status.NodeInfo.OSImage", ".LastTransition.Year", ".LastTransition.Month", ".LastTransition.Weekday", ".Node.GetName", ".Node.GetLabels",
          ".Node.GetLabels.zone", ".Node.GetCreationTimestamp", ".Node.GetUID", ".Node.Status.Capacity.Cpu.Value",
          ".Node.Status.Allocatable.Cpu.MilliValue", ".Node.Status.Capacity.Memory.Value",
          ".Node.Status.Allocatable.Cpu.IsZero", "(.LastTransition.Add 5400000000000)", "(.LastTransition.AddDate 0 1 1)",
          "(.LastTransition.Sub .Node.CreationTimestamp.Time)", "(.LastTransition.Sub .LastTransition)",
          "(.LastTransition.Sub .Node.CreationTimestamp.Time).Hours", "(.LastTransition.Before .Node.CreationTimestamp.Time)",
          ".Node.Annotations.n",
          ".Key", ".Type", ".Address", ".", ".Nope", "$.State"]
LITERALS = ['"a"', '"%d"', '"%v|%s"', '"größe"', "`raw`", "'x'", "0", "1", "2", "-3", "0x10", "1.5", "1e3", "true",
            "false", "nil", '""', '"zone"', '"b c<&>"']
VERBS = "vsdqxXtfgeobcUT%z"
FLAGS = ["", "", "", "+", "-", "#", " ", "0", "+0", "-0", "# "]
ONE = ["len", "not", "html", "js", "urlquery", "print", "println"]
METHODS = [".LastTransition.Add", ".LastTransition.Sub", ".LastTransition.After", ".LastTransition.Round", ".LastTransition.Format",
           ".Node.CreationTimestamp.Before", ".Node.DeletionTimestamp.Equal", ".Node.Status.Capacity.Cpu.Cmp",
           ".Node.Status.Capacity.Cpu.CmpInt64"]
TWO = ["eq", "ne", "lt", "le", "gt", "ge", "and", "or", "index", "slice", "print"]
NOISE = ["{{", "}}", "(", ")", "|", ":=", "=", ",", "$z", ".", "\"", "end", "else", "{{end}}", "{{else}}", "-", " ", "`", "'"]


class Generator:
    def __init__(self, random):
        self.random = random
        self.variables = []
        # Range, with and block around: outside of them the dot is the whole data, which prints as Go does not.
        self.dots = 0

    def template(self):
        self.variables = []
        text = self.body(3, False)
        if self.random.random() < 0.15:
            at = self.random.randrange(len(text) + 1)
            cut = at + self.random.choice([0, 0, 1, 2])
            text = text[:at] + self.random.choice(NOISE + [""]) + text[cut:]
        return text

    def body(self, depth, loop):
        known = len(self.variables)
        text = "".join(self.statement(depth, loop) for _ in range(self.random.randint(1, 3)))
        del self.variables[known:]
        return text

    def open(self):
        return self.random.choice(["{{", "{{", "{{", "{{ ", "{{- "])

    def close(self):
        return self.random.choice(["}}", "}}", "}}", " }}", " -}}"])

    def action(self, inner):
        return self.open() + inner + self.close()

    def statement(self, depth, loop):
        kind = self.random.randrange(12)
        if kind < 2:
            return self.random.choice(["x", " ", "\n", "text ", " | ", "a  \n"])
        if kind < 6 or depth == 0:
            return self.action(self.pipeline(depth))
        if kind == 6:
            name = self.random.choice(["$a", "$b"])
            known = name in self.variables
            text = self.action(f"{name} {'=' if known and self.random.random() < 0.5 else ':='} {self.pipeline(depth)}")
            self.variables.append(name)
            return text
        if kind == 7:
            return self.control("if", depth, loop)
        if kind == 8:
            return self.control("with", depth, loop)
        if kind == 9 and loop:
            return self.action(self.random.choice(["break", "continue"]))
        if kind == 11:
            return self.action(f'block "t{self.random.randrange(10**9)}" {self.pipeline(depth)}') + self.own(depth) + "{{end}}"
        return self.loop(depth)

    def own(self, depth):
        outer, self.variables = self.variables, []
        self.dots += 1
        text = self.body(depth - 1, False)
        self.dots -= 1
        self.variables = outer
        return text

    def control(self, word, depth, loop):
        text = self.action(f"{word} {self.pipeline(depth)}")
        self.dots += word == "with"
        text += self.body(depth - 1, loop)
        self.dots -= word == "with"
        if self.random.random() < 0.3:
            text += self.action(f"else {word} {self.pipeline(depth)}")
            self.dots += word == "with"
            text += self.body(depth - 1, loop)
            self.dots -= word == "with"
        if self.random.random() < 0.5:
            text += self.action("else") + self.body(depth - 1, loop)
        return text + self.action("end")

    def loop(self, depth):
        names = self.random.choice([[], [], ["$i"], ["$i", "$v"]])
        # No large numbers: Go would count them to the end.
        over = self.random.choice([".Node.Labels", ".Node.Finalizers", ".Node.Spec.Taints", ".Node.Status.Addresses", "3",
                                   "$.Node.Finalizers", "nil", ".State", "(len .State)", "true"])
        known = len(self.variables)
        self.variables += names
        head = f"range {', '.join(names)} := {over}" if names else f"range {over}"
        self.dots += 1
        text = self.action(head) + self.body(depth - 1, True)
        self.dots -= 1
        if self.random.random() < 0.4:
            text += self.action("else") + self.body(depth - 1, False)
        del self.variables[known:]
        return text + self.action("end")

    def pipeline(self, depth):
        text = self.command(depth)
        while self.random.random() < 0.2:
            text += self.random.choice([" | ", "|"]) + self.stage(depth)
        return text

    def stage(self, depth):
        if self.random.random() < 0.6:
            return self.random.choice(ONE)
        return f"{self.random.choice(TWO)} {self.term(depth)}"

    def command(self, depth):
        kind = self.random.randrange(10)
        if kind < 4:
            return self.term(depth)
        if kind < 6:
            return f"{self.random.choice(ONE)} {self.term(depth)}"
        if kind == 6:
            return f"{self.random.choice(METHODS)} {self.term(depth)}"
        if kind < 9:
            return f"{self.random.choice(TWO)} {self.term(depth)} {self.term(depth)}"
        return self.printf(depth)

    def printf(self, depth):
        verbs, values = "", []
        for _ in range(self.random.randint(1, 3)):
            width = self.random.choice(["", "", "5", "12"])
            precision = self.random.choice(["", "", ".2", ".0"])
            verbs += f"%{self.random.choice(FLAGS)}{width}{precision}{self.random.choice(VERBS)}|"
            values.append(self.term(depth))
        if self.random.random() < 0.1:
            values.pop()
        return f'printf "{verbs}" {" ".join(values)}'

    def term(self, depth):
        kind = self.random.randrange(10)
        if kind < 4:
            return self.field()
        if kind < 7:
            return self.random.choice(LITERALS)
        if kind == 7 and self.variables:
            return self.random.choice(self.variables)
        if kind == 8 and depth > 0:
            return f"({self.pipeline(depth - 1)})" + self.random.choice(["", "", ".Key", ".zone"])
        return self.field()

    def field(self):
        name = self.random.choice(FIELDS)
        return ".State" if name == "." and self.dots == 0 else name
