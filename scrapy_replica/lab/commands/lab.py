"""``scrapy replica lab``: what measures the add-on, and makes what it is measured on."""

from __future__ import annotations

from scrapy_replica.commands.parser import CommandGroup
from scrapy_replica.lab.commands import experiments
from scrapy_replica.lab.commands.archive import ArchiveCommand
from scrapy_replica.lab.commands.calibrate import CalibrateCommand
from scrapy_replica.lab.commands.capacity import CapacityCommand
from scrapy_replica.lab.commands.generate import GenerateCommand
from scrapy_replica.lab.commands.manuals import ManualsCommand
from scrapy_replica.lab.commands.mirrorbench import MirrorBenchCommand


class LabCommand(CommandGroup):
    """One command for each experiment."""

    name = "lab"
    help = "measure a part of the add-on on labelled data, beside peers and baselines; make webs and archives for that"
    group = "measure"
    metavar = "EXPERIMENT"
    commands = (
        experiments.CrawlExperiment,
        experiments.ReplicasExperiment,
        experiments.LeftOutExperiment,
        experiments.DustExperiment,
        experiments.VisitsExperiment,
        experiments.TunnelsExperiment,
        experiments.TextExperiment,
        experiments.NoiseExperiment,
        experiments.FormsExperiment,
        experiments.RevisitsExperiment,
        CalibrateCommand,
        GenerateCommand,
        ManualsCommand,
        MirrorBenchCommand,
        ArchiveCommand,
        CapacityCommand,
    )
