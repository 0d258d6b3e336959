// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// options are the flags of all commands.
type options struct {
	// stdout and stderr are screens.
	stdout, stderr io.Writer
	config         *genericclioptions.ConfigFlags
	now            func() time.Time
	allNamespaces  bool
	format, color  string
	ascii          bool
	// weirNamespace is where Weir runs; "" if it is to be found.
	weirNamespace string
	// painted is whether to colour, once the flags are known.
	painted bool
}

func (o *options) addFlags(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	o.config.AddFlags(flags)
	flags.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "Look at all namespaces, whatever --namespace is")
	flags.StringVarP(&o.format, "output", "o", formatTable, "Output: table, wide, json, yaml or name")
	flags.StringVar(&o.color, "color", colorAuto, "Colour the output: auto, always or never")
	flags.StringVar(&o.weirNamespace, "weir-namespace", "",
		"Namespace that Weir runs in; empty takes that of the Service that its webhooks call, or weir-system where you may not read them")
	flags.BoolVar(&o.ascii, "ascii", false, "Draw with ASCII characters")
	for name, values := range map[string][]string{"output": formats, "color": colors} {
		// It errs for flags that do not exist only.
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
}

// complete checks the flags.
func (o *options) complete() (err error) {
	if err = checkFormat(o.format); err != nil {
		return err
	}
	o.painted, err = useColor(o.color, o.stdout)
	return err
}

func (o *options) glyphs() Glyphs {
	if o.ascii {
		return ASCII
	}
	return Unicode
}

// contextNamespace is that of --namespace or of the context.
func (o *options) contextNamespace() (namespace string, isGiven bool, err error) {
	namespace, _, err = o.config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", false, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	return namespace, o.config.Namespace != nil && *o.config.Namespace != "", nil
}

// scope is the namespace of --namespace, or all, as far as the user may list them.
func (o *options) scope() (survey.Scope, error) {
	namespace, isGiven, err := o.contextNamespace()
	if err != nil {
		return survey.Scope{}, err
	}
	if isGiven && !o.allNamespaces {
		return survey.Scope{Only: namespace}, nil
	}
	return survey.Scope{Fallback: namespace}, nil
}

// survey returns what reads with the user's rights.
func (o *options) survey(scope survey.Scope) (*survey.Survey, error) {
	config, err := o.config.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	mapper, err := o.config.ToRESTMapper()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	s, err := survey.New(config, mapper, scope)
	if err != nil {
		return nil, err
	}
	s.SetHome(o.weirNamespace)
	return s, nil
}

// surveyOfWeir is survey for what asks about Weir's kinds by name. It errs with survey.ErrNoWeir where the API server does not serve them.
func (o *options) surveyOfWeir(scope survey.Scope) (*survey.Survey, error) {
	s, err := o.survey(scope)
	if err == nil {
		err = s.Find()
	}
	return s, err
}
