package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/oncehook/oncehook/internal/admin"
)

// helpVariables are what help texts take from the code.
func helpVariables() kong.Vars {
	return kong.Vars{"codec_life": strconv.Itoa(int(admin.CodecLinkLife/time.Hour)) + " hours"}
}

// plainWords replace those of the parser that speak of its types.
func plainWords() *strings.Replacer {
	return strings.NewReplacer(
		`must be one of "",`, "must be one of ",
		"expected a valid 64 bit int but got", "must be a whole number, not",
		"expected a valid 32 bit uint but got", "must be a whole number, not",
	)
}

// misread says what is wrong with a command line, and where its verb is explained.
func misread(err error) string {
	verb := ""
	if parse, ok := errors.AsType[*kong.ParseError](err); ok && parse.Context != nil {
		for _, path := range parse.Context.Path {
			if path.Command != nil {
				verb += " " + path.Command.Name
			}
		}
	}
	return fmt.Sprintf("%s; see oncehook%s --help", plainWords().Replace(err.Error()), verb)
}
