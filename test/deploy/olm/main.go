// Has operator-framework's own code judge the bundle and the catalog of deploy/olm.
//
//	olm BUNDLE CATALOG
//
// Prints a line for each thing that is wrong with the folders, and ends with code 1 if there was one.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	interfaces "github.com/operator-framework/api/pkg/validation/interfaces"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
)

// All that look at a bundle, but for the one that is deprecated: its checks are those of a catalog of others.
var validators = interfaces.Validators{
	validation.ClusterServiceVersionValidator,
	validation.CustomResourceDefinitionValidator,
	validation.BundleValidator,
	validation.OperatorHubV2Validator,
	validation.StandardCategoriesValidator,
	validation.StandardCapabilitiesValidator,
	validation.ObjectValidator,
	validation.AlphaDeprecatedAPIsValidator,
	validation.GoodPracticesValidator,
}

func checkBundle(folder string) (complaints []string) {
	bundle, err := manifests.GetBundleFromDir(folder)
	if err != nil {
		return []string{err.Error()}
	}
	for _, result := range validators.Validate(bundle.ObjectsToValidate()...) {
		for _, found := range result.Errors {
			complaints = append(complaints, found.Error())
		}
		for _, found := range result.Warnings {
			complaints = append(complaints, found.Error())
		}
	}
	return complaints
}

func checkCatalog(folder string) []string {
	catalog, err := declcfg.LoadFS(context.Background(), os.DirFS(folder))
	if err != nil {
		return []string{err.Error()}
	}
	if _, err := declcfg.ConvertToModel(*catalog); err != nil {
		return []string{err.Error()}
	}
	return nil
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: olm BUNDLE CATALOG")
		os.Exit(2)
	}
	complaints := append(checkBundle(os.Args[1]), checkCatalog(os.Args[2])...)
	for _, complaint := range complaints {
		fmt.Println(complaint)
	}
	if len(complaints) > 0 {
		os.Exit(1)
	}
}
