// Answers questions with Go's own libraries, one JSON line each, so that careen's answers can be compared with them.
// A question names its subject and brings the texts it is about.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

type question struct {
	Subject string   `json:"subject"`
	Texts   []string `json:"texts"`
}

// A subject's answer is any JSON value; nil where the text is refused.
var subjects = map[string]func(texts []string) any{
	"semver":        parseVersion,
	"semver order":  compareVersions,
	"duration":      parseDuration,
	"time of day":   parseTimeOfDay,
	"day of a year": parseDayOfYear,
}

func answerAll() error {
	lines := bufio.NewScanner(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			return err
		}
		answer, known := subjects[asked.Subject]
		if !known {
			return fmt.Errorf("no such subject: %q", asked.Subject)
		}
		if err := json.NewEncoder(out).Encode(answer(asked.Texts)); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return out.Flush()
}

func main() {
	if err := answerAll(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
