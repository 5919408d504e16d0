package main

import (
	"strconv"
	"strings"

	"github.com/blang/semver/v4"
)

func parseVersion(texts []string) any {
	version, err := semver.Parse(texts[0])
	if err != nil {
		return nil
	}
	preRelease := []string{}
	for _, identifier := range version.Pre {
		preRelease = append(preRelease, identifier.String())
	}
	number := func(value uint64) string { return strconv.FormatUint(value, 10) }
	return []string{number(version.Major), number(version.Minor), number(version.Patch),
		strings.Join(preRelease, "."), strings.Join(version.Build, ".")}
}

// Both are versions.
func compareVersions(texts []string) any {
	return semver.MustParse(texts[0]).Compare(semver.MustParse(texts[1]))
}
