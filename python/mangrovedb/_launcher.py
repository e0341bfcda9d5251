"""What `mangrove cluster up --launcher ray` and `mangrove cluster down` run: the nodes under Ray that `mangrovedb.cluster` starts.

    python -m mangrovedb._launcher check '{}'                                               {}
    python -m mangrovedb._launcher up '{"name": "air", "nodes": 2, …}'                      {"address": "mangrove://…/air"}
    python -m mangrovedb._launcher down '{"name": "air", "addresses": ["127.0.0.1:7701"]}'  {"ended": ["node-0", "node-1"]}

It writes one line of JSON. If something fails, that is {"error": …}.
"""

import json
import sys

from . import _mangrove as native
from . import launch


def check(_):
    launch._ray()
    return {}


def up(settings):
    return {"address": launch.cluster(settings.pop("name"), **settings).address}


def down(settings):
    return {"ended": launch._ended(settings["name"], settings["addresses"])}


def main():
    what, settings = sys.argv[1:]
    try:
        said = {"check": check, "up": up, "down": down}[what](json.loads(settings))
    except (native.MangroveError, ImportError, TypeError, ValueError) as error:
        said = {"error": str(error)}
    print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
