package store

import (
	"strconv"
	"strings"
	"time"
)

// timeout reads a PostgreSQL time setting, such as "1s", "1500" (milliseconds)
// or "2min". It returns false for none, for 0 (no limit) and for what it cannot read.
func timeout(setting string) (time.Duration, bool) {
	setting = strings.TrimSpace(setting)
	end := len(setting)
	for end > 0 && (setting[end-1] < '0' || setting[end-1] > '9') {
		end--
	}
	number, err := strconv.ParseFloat(setting[:end], 64)
	if err != nil || number <= 0 {
		return 0, false
	}
	units := map[string]time.Duration{
		"": time.Millisecond, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second,
		"min": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
	}
	unit, ok := units[strings.TrimSpace(setting[end:])]
	if !ok || number*float64(unit) > float64(365*24*time.Hour) {
		return 0, false
	}
	return time.Duration(number * float64(unit)), true
}
