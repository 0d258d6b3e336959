// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bytes"
	"crypto/rand"
	"embed"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// services holds the services' programs, and the templates of their configuration.
//
//go:embed services
var services embed.FS

// settings fill the templates.
type settings struct {
	Dir           string
	Keystone      string
	NeutronPort   int
	AdminPassword string
}

const policyDir = "policy.d"

// write writes programs, configuration and keys into the folder.
func (s settings) write() error {
	for _, dir := range []string{"fernet-keys", "credential-keys", "lock", policyDir} {
		if err := os.Mkdir(filepath.Join(s.Dir, dir), 0o700); err != nil {
			return err
		}
	}
	for _, dir := range []string{"fernet-keys", "credential-keys"} {
		for _, name := range []string{"0", "1"} {
			if err := writeKey(filepath.Join(s.Dir, dir, name)); err != nil {
				return err
			}
		}
	}
	files, err := services.ReadDir("services")
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := s.writeFile(file.Name()); err != nil {
			return err
		}
	}
	return nil
}

func (s settings) writeFile(name string) error {
	content, err := services.ReadFile("services/" + name)
	if err != nil {
		return err
	}
	target, isTemplate := strings.CutSuffix(name, ".tmpl")
	if isTemplate {
		parsed, err := template.New(name).Option("missingkey=error").Parse(string(content))
		if err != nil {
			return err
		}
		var filled bytes.Buffer
		if err := parsed.Execute(&filled, s); err != nil {
			return err
		}
		content = filled.Bytes()
	}
	return os.WriteFile(filepath.Join(s.Dir, target), content, 0o600)
}

// writeKey writes a Fernet key: 32 random bytes in URL-safe base64.
func writeKey(path string) error {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(base64.URLEncoding.EncodeToString(key)), 0o600)
}
