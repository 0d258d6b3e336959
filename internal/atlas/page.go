// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package atlas

import (
	"crypto/sha256"
	_ "embed" // for the page
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// The page: made by "make web" from web/map, but for map.html.
var (
	//go:embed page/map.html
	pageHTML string
	//go:embed page/map.js
	pageScript string
	//go:embed page/map.css
	pageStyle string
)

// liveSource lets the page of a live map ask its own server.
const liveSource = "connect-src 'self'"

// WritePage writes a map as one page that asks for nothing else: its policy allows only its own script and style. In the
// JSON of the model "<", ">" and "&" are escaped, so that no name can end it.
func WritePage(w io.Writer, m *Map) error { return writePage(w, m, "") }

// writePage writes the page with more of its policy.
func writePage(w io.Writer, m *Map, policy string) error {
	model, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encoding the map: %w", err)
	}
	page := strings.NewReplacer(
		"{{sources}}", pageSources(), "{{more policy}}", policy, "{{script}}", pageScript, "{{style}}", pageStyle, "{{model}}", string(model),
	)
	_, err = page.WriteString(w, pageHTML)
	return err
}

// pageSources is the part of the policy that allows script and style.
func pageSources() string {
	return fmt.Sprintf("script-src 'sha256-%s'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'", hashOf(pageScript), hashOf(pageStyle))
}

// hashOf is how a content security policy names a script or style.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}
