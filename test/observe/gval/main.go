// Answers expressions with the library gval: one JSON document a line, {"text": …, "values": [texts of numbers]},
// gives one line: {"refused": why} or {"answers": ["true" | "false" | "error: …" for each value]}.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"github.com/PaesslerAG/gval"
)

type question struct {
	Text   string   `json:"text"`
	Values []string `json:"values"`
}

type answer struct {
	Refused string   `json:"refused,omitempty"`
	Answers []string `json:"answers,omitempty"`
}

func evaluated(expression gval.Evaluable, value float64) string {
	parameters := map[string]interface{}{"value": value}
	result, err := expression(context.Background(), parameters)
	if err != nil {
		return "error: " + err.Error()
	}
	truth, err := gval.Evaluable(func(context.Context, interface{}) (interface{}, error) {
		return result, nil
	}).EvalBool(context.Background(), parameters)
	if err != nil {
		return "error: " + err.Error()
	}
	// Whether a string counts as a truth is a matter of its own: see differences.py.
	if _, text := result.(string); text {
		return fmt.Sprintf("string: %v", truth)
	}
	return strconv.FormatBool(truth)
}

func answered(asked question) (given answer) {
	defer func() {
		if problem := recover(); problem != nil {
			given = answer{Refused: fmt.Sprintf("panic: %v", problem)}
		}
	}()
	expression, err := gval.Full().NewEvaluable(asked.Text)
	if err != nil {
		return answer{Refused: "refused: " + err.Error()}
	}
	for _, text := range asked.Values {
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic(err)
		}
		given.Answers = append(given.Answers, evaluated(expression, value))
	}
	return given
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	for in.Scan() {
		var asked question
		if err := json.Unmarshal(in.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := encoder.Encode(answered(asked)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
