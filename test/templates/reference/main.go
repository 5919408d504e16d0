// Renders the cases that render.cc renders, with Go's own text/template.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"text/template"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Parameters is the data of a message.
type Parameters struct {
	State, Profile, Current, Last string
	Node                          *v1.Node
	LastTransition                time.Time
	InMaintenance, LogDetails     bool
}

type testCase struct {
	Template string
	Data     struct {
		State, Profile, Last      string
		LastTransition            time.Time
		InMaintenance, LogDetails bool
		Node                      v1.Node
	}
}

type answer struct {
	Outcome string `json:"outcome"`
	Text    string `json:"text"`
}

// clip takes the spare room of lists away, which decoding left and "slice" would see.
func clip(value reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			clip(value.Elem())
		}
	case reflect.Struct:
		if value.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range value.NumField() {
			clip(value.Field(i))
		}
	case reflect.Slice:
		if value.Len() < value.Cap() {
			value.Set(value.Slice3(0, value.Len(), value.Len()))
		}
		for i := range value.Len() {
			clip(value.Index(i))
		}
	}
}

func run(c *testCase) answer {
	parsed, err := template.New("message").Parse(c.Template)
	if err != nil {
		return answer{"parse", err.Error()}
	}
	clip(reflect.ValueOf(&c.Data.Node))
	data := Parameters{
		State: c.Data.State, Profile: c.Data.Profile, Current: c.Data.Profile, Last: c.Data.Last,
		Node: &c.Data.Node, LastTransition: c.Data.LastTransition.UTC(),
		InMaintenance: c.Data.InMaintenance, LogDetails: c.Data.LogDetails,
	}
	var out strings.Builder
	if err := parsed.Execute(&out, data); err != nil {
		return answer{"exec", err.Error()}
	}
	return answer{"ok", out.String()}
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var c testCase
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			panic(err)
		}
		if err := out.Encode(run(&c)); err != nil {
			panic(err)
		}
	}
	if err := in.Err(); err != nil {
		panic(err)
	}
}
