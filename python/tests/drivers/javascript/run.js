// Asks a server with the driver for JavaScript: run.js ADDRESS QUERIES. Prints the answers as JSON.

import { readFileSync } from 'node:fs';
import gremlin from 'gremlin';

const { Client, DriverRemoteConnection } = gremlin.driver;
const { Edge, Path, Vertex, VertexProperty } = gremlin.structure;
const { EnumValue, P, TextP, order, statics: __, t, traversal } = gremlin.process;

// A value as JSON. Objects of one key say what is no value of JSON.
function plain(value) {
  if (value instanceof Vertex) return { vertex: value.id };
  if (value instanceof Edge) return { edge: value.id };
  if (value instanceof VertexProperty) return { property: [value.key, plain(value.value)] };
  if (value instanceof Path) return { path: value.objects.map(plain) };
  if (value instanceof Map) return { map: [...value].map(([key, each]) => [plain(key), plain(each)]) };
  if (value instanceof Set) return { set: [...value].map(plain) };
  if (value instanceof EnumValue) return value.elementName;
  return Array.isArray(value) ? value.map(plain) : value;
}

async function texts(client, queries) {
  const answers = {};
  for (const { name, text, bindings } of queries) answers[name] = plain((await client.submit(text, bindings)).toArray());
  return answers;
}

// Queries of the list, written in this language.
async function traversals(g) {
  const airports = () => g.V().hasLabel('airport');
  const written = {
    'and or': airports()
      .and(__.has('runways', P.gt(3)), __.or(__.has('elev', P.lt(500)), __.has('longest', P.gt(12000))))
      .values('code'),
    coalesce: g
      .V()
      .has('airport', 'city', TextP.startingWith('Kings '))
      .order()
      .by('code')
      .coalesce(__.out('route').values('code').order().limit(1), __.constant('none')),
    'element map': g.V('SAU').elementMap(),
    group: airports().group().by('country').by(__.values('code').order().fold()),
    order: airports().order().by('runways', order.desc).by('code').range(5, 15).values('code'),
    'path of elements': g.V('SAU').outE('route').inV().path(),
    until: g
      .V('SAU')
      .repeat(__.out('route').simplePath())
      .until(__.or(__.has('code', 'KDA'), __.loops().is(3)))
      .has('code', 'KDA')
      .path()
      .by('code'),
    where: g.V('SAU').as('a').out('route').as('b').where('a', P.lt('b')).by('elev').values('code'),
  };
  const answers = {};
  for (const [name, steps] of Object.entries(written)) answers[name] = plain(await steps.toList());
  return answers;
}

// How many see a new vertex: the transaction, others meanwhile, and others after its end.
async function transaction(g, name, end) {
  const count = async (source) => (await source.V(name).count().next()).value;
  const tx = g.tx();
  const within = tx.begin();
  await within.addV('airport').property(t.id, name).iterate();
  const seen = [await count(within), await count(g)];
  await end(tx);
  return [...seen, await count(g)];
}

async function status(client, query) {
  try {
    await client.submit(query);
  } catch (error) {
    return error.statusCode;
  }
}

const [address, queries] = process.argv.slice(2);
const client = new Client(address, { traversalSource: 'g' });
const connection = new DriverRemoteConnection(address, { traversalSource: 'g' });
const g = traversal().withRemote(connection);
const answers = {
  texts: await texts(client, JSON.parse(readFileSync(queries))),
  traversals: await traversals(g),
  committed: await transaction(g, 'kept', (tx) => tx.commit()),
  'rolled back': await transaction(g, 'undone', (tx) => tx.rollback()),
  codes: [await status(client, "g.V().fail('no luck')"), await status(client, 'g.V().nonsense()')],
};
await client.close();
await connection.close();
console.log(JSON.stringify(answers));
