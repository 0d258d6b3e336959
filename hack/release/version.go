// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

var (
	// tag is a semantic version with a "v", as Go's module proxy and clusterctl take it.
	tag = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)
	// modulePath is the first directive of a go.mod, with the major version from 2 on.
	modulePath = regexp.MustCompile(`(?m)^module \S+?(?:/v(\d+))?$`)
)

// checkVersion errs if clusterctl could not find the version: it looks versions up as those of the Go module first, and then for their
// series in metadata.yaml.
func checkVersion(version, modFile, metadataFile string) error {
	parts := tag.FindStringSubmatch(version)
	if parts == nil {
		return fmt.Errorf("%q is no version such as v0.1.0", version)
	}
	mod, err := os.ReadFile(modFile)
	if err != nil {
		return err
	}
	path := modulePath.FindStringSubmatch(string(mod))
	if path == nil {
		return fmt.Errorf("%s has no module", modFile)
	}
	major := parts[1]
	if major == "0" || major == "1" {
		major = ""
	}
	if path[1] != major {
		return fmt.Errorf("%s is no version of the module %s", version, strings.TrimPrefix(path[0], "module "))
	}
	return checkSeries(version, parts[1], parts[2], metadataFile)
}

func checkSeries(version, major, minor, metadataFile string) error {
	text, err := os.ReadFile(metadataFile)
	if err != nil {
		return err
	}
	var metadata struct {
		ReleaseSeries []struct {
			Major, Minor int
			Contract     string
		} `json:"releaseSeries"`
	}
	if err = yaml.Unmarshal(text, &metadata); err != nil {
		return fmt.Errorf("reading %s: %w", metadataFile, err)
	}
	for _, series := range metadata.ReleaseSeries {
		if fmt.Sprint(series.Major) == major && fmt.Sprint(series.Minor) == minor && series.Contract != "" {
			return nil
		}
	}
	return fmt.Errorf("%s lacks the series of %s", metadataFile, version)
}
