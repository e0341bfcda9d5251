#!/usr/bin/env python3
"""The results of a query as a data set of Ray: each task reads one shard of a graph on nodes.

    mangrove serve mangrove://host:7701/air --flight 8183
    python examples/ray_data.py grpc://127.0.0.1:8183 "g.V().hasLabel('airport').project('code', 'elev').by('code').by('elev')"

All tasks read the graph at one commit, for ten minutes. They must reach the server. A query that cannot be read shard by shard is read by
one task. It needs Ray and pyarrow: pip install "ray[data]" pyarrow
"""

import json
import sys

import pyarrow as pa
import pyarrow.flight as flight
import ray


def tickets(address, gremlin, **parameters):
    """A ticket for each shard, or one for the whole."""
    command = json.dumps({"gremlin": gremlin, "parameters": parameters})
    with flight.FlightClient(address) as client:
        info = client.get_flight_info(flight.FlightDescriptor.for_command(command))
    return [endpoint.ticket.ticket for endpoint in info.endpoints]


def read(places):
    """The record batches of some tickets."""
    for place in places.to_pylist():
        with flight.FlightClient(place["address"]) as client:
            for chunk in client.do_get(flight.Ticket(place["ticket"])):
                if chunk.data.num_rows:
                    yield pa.Table.from_batches([chunk.data])


def dataset(address, gremlin, **parameters):
    """The results of a query as a data set, which is read when it is used."""
    places = [{"address": address, "ticket": ticket} for ticket in tickets(address, gremlin, **parameters)]
    of_each = ray.data.from_items(places, override_num_blocks=len(places))
    return of_each.map_batches(read, batch_size=1, batch_format="pyarrow")


if __name__ == "__main__":
    ray.init()
    results = dataset(*sys.argv[1:3])
    print(f"{results.count()} results")
    results.show(5)
