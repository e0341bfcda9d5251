// Asks a server with the driver for Go: run ADDRESS QUERIES. Prints the answers as JSON.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strconv"

	gremlin "github.com/apache/tinkerpop/gremlin-go/v3/driver"
)

type object = map[string]any

// The query of a list of queries.
type query struct {
	Name, Text string
	Bindings   object
}

var (
	__ = gremlin.T__
	P  = gremlin.P
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// A value as JSON. Objects of one key say what is no value of JSON.
func plain(value any) any {
	switch value := value.(type) {
	case *gremlin.Vertex:
		return object{"vertex": value.Id}
	case *gremlin.Edge:
		return object{"edge": value.Id}
	case *gremlin.VertexProperty:
		// The driver leaves the key empty; the label is the same.
		return object{"property": []any{value.Label, plain(value.Value)}}
	case *gremlin.Path:
		return object{"path": all(value.Objects)}
	case gremlin.Set:
		return object{"set": all(value.ToSlice())}
	case []any:
		return all(value)
	}
	if found := reflect.ValueOf(value); found.Kind() == reflect.Map {
		pairs := []any{}
		for entries := found.MapRange(); entries.Next(); {
			pairs = append(pairs, []any{plain(entries.Key().Interface()), plain(entries.Value().Interface())})
		}
		return object{"map": pairs}
	}
	return value
}

func all(values []any) []any {
	list := []any{}
	for _, value := range values {
		list = append(list, plain(value))
	}
	return list
}

func results(found []*gremlin.Result, err error) []any {
	list := []any{}
	for _, result := range must(found, err) {
		list = append(list, plain(result.Data))
	}
	return list
}

func texts(client *gremlin.Client, queries []query) object {
	answers := object{}
	for _, each := range queries {
		answers[each.Name] = results(must(client.Submit(each.Text, each.Bindings)).All())
	}
	return answers
}

// Queries of the list, written in this language.
func traversals(g *gremlin.GraphTraversalSource) object {
	written := map[string]*gremlin.GraphTraversal{
		"and or": g.V().HasLabel("airport").
			And(__.Has("runways", P.Gt(3)), __.Or(__.Has("elev", P.Lt(500)), __.Has("longest", P.Gt(12000)))).
			Values("code"),
		"coalesce": g.V().Has("airport", "city", gremlin.TextP.StartingWith("Kings ")).Order().By("code").
			Coalesce(__.Out("route").Values("code").Order().Limit(1), __.Constant("none")),
		"element map":      g.V("SAU").ElementMap(),
		"group":            g.V().HasLabel("airport").Group().By("country").By(__.Values("code").Order().Fold()),
		"order":            g.V().HasLabel("airport").Order().By("runways", gremlin.Order.Desc).By("code").Range(5, 15).Values("code"),
		"path of elements": g.V("SAU").OutE("route").InV().Path(),
		"until": g.V("SAU").Repeat(__.Out("route").SimplePath()).
			Until(__.Or(__.Has("code", "KDA"), __.Loops().Is(3))).
			Has("code", "KDA").Path().By("code"),
		"where": g.V("SAU").As("a").Out("route").As("b").Where("a", P.Lt("b")).By("elev").Values("code"),
	}
	answers := object{}
	for name, steps := range written {
		answers[name] = results(steps.ToList())
	}
	return answers
}

// How many see a new vertex: the transaction, others meanwhile, and others after its end.
func transaction(g *gremlin.GraphTraversalSource, name string, end func(*gremlin.Transaction) error) []int {
	count := func(source *gremlin.GraphTraversalSource) int {
		return must(must(source.V(name).Count().Next()).GetInt())
	}
	tx := g.Tx()
	within := must(tx.Begin())
	must(0, <-within.AddV("airport").Property(gremlin.T.Id, name).Iterate())
	seen := []int{count(within), count(g)}
	must(0, end(tx))
	return append(seen, count(g))
}

// The driver keeps the last eight bits of a code, and only in the text of its error.
func status(client *gremlin.Client, text string) int {
	_, err := must(client.Submit(text)).All()
	code := regexp.MustCompile(`statusCode: (\d+)`).FindStringSubmatch(err.Error())
	return must(strconv.Atoi(code[1]))
}

func main() {
	address, file := os.Args[1], os.Args[2]
	var queries []query
	must(0, json.Unmarshal(must(os.ReadFile(file)), &queries))
	client := must(gremlin.NewClient(address, func(settings *gremlin.ClientSettings) { settings.LogVerbosity = gremlin.Off }))
	connection := must(gremlin.NewDriverRemoteConnection(address))
	g := gremlin.Traversal_().With(connection)
	answers := object{
		"texts":       texts(client, queries),
		"traversals":  traversals(g),
		"committed":   transaction(g, "kept", (*gremlin.Transaction).Commit),
		"rolled back": transaction(g, "undone", (*gremlin.Transaction).Rollback),
		"codes":       []int{status(client, "g.V().fail('no luck')"), status(client, "g.V().nonsense()")},
	}
	client.Close()
	connection.Close()
	must(0, json.NewEncoder(os.Stdout).Encode(answers))
}
