package main

import (
	"strconv"
	"time"
)

// Nanoseconds as a text: they do not fit in a JSON number.
func parseDuration(texts []string) any {
	duration, err := time.ParseDuration(texts[0])
	if err != nil {
		return nil
	}
	return strconv.FormatInt(int64(duration), 10)
}

// Minutes since midnight.
func parseTimeOfDay(texts []string) any {
	t, err := time.Parse("15:04", texts[0])
	if err != nil {
		return nil
	}
	return t.Hour()*60 + t.Minute()
}

// Month and day.
func parseDayOfYear(texts []string) any {
	t, err := time.Parse("Jan 2", texts[0])
	if err != nil {
		return nil
	}
	return []int{int(t.Month()), t.Day()}
}
