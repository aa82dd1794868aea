"""A tree of 220 labels with long compound names, as ontologies of engineering have them; written for these tests."""

from typing import Any

OBJECTS = {
    "SensingObject": "ElectricPotential ElectricCurrent LiquidLevel FluidFlow GasPressure SurfaceTemperature RotationalSpeed"
    " MechanicalVibration RelativeHumidity SmokeConcentration AxialPosition BulkWeight",
    "StoringObject": "ElectricEnergy PressurisedGas OpenLiquid BulkMaterial SparePart InformationRecord ThermalEnergy"
    " PotentialEnergy HazardousSubstance TemporaryWaste",
    "GeneratingObject": "ElectricEnergy CompressedAir LiquidFlow SolidMatterFlow ThermalEnergy SteamPressure InertGas"
    " ElectromagneticSignal VacuumPressure",
    "DrivingObject": "ElectricMotor CombustionEngine HydraulicCylinder PneumaticCylinder SpringForce ManualForce"
    " GravityForce SteamTurbine LinearMotion",
    "ControllingObject": "MultipleMeasure FluidFlow ElectricEnergy MechanicalMotion TreatmentProcess RadiantEnergy"
    " SpaceAccess SingleMeasure EmergencyStop SafetyInterlock",
    "ProtectingObject": "ElectricOverload EarthFault MechanicalShock CorrosionAttack ThermalOverload LightningStroke"
    " FireSpread WearSurface PersonalSafety EnvironmentalRelease",
    "GuidingObject": "ElectricCurrent OpenFlow EnclosedFlow MechanicalLoad RotatingShaft OpticalSignal ThermalFlow"
    " VehicleTrack SolidMatter CombinedMedia",
    "HoldingObject": "PositionFixing LoadCarrying EnclosingFrame JoiningFastener MatterLevelling SurfaceBonding CableSupport"
    " TemporaryScaffold",
    "TransformingObject": "ElectricVoltage MechanicalMomentum ThermalExchange SizeReduction MaterialSeparation"
    " MaterialMixing ShapeForming ChemicalReaction SurfaceCoating",
    "RestrictingObject": "ElectricSurge FluidReturn MechanicalTravel SealingSurface FlowThrottling ParticleFilter"
    " AccessBarrier NoiseDamping",
    "PresentingObject": "VisualState AcousticAlarm PrintedRecord ScalarReading TextMessage LiveImage TactileWarning",
    "InterfacingObject": "ElectricTerminal FluidCoupling DataNetwork OperatorPanel MechanicalFlange WirelessAntenna"
    " HeatTransition",
}
ACTIVITIES = {
    "RepairActivity": "CorrectiveWelding TemporaryPatch ElectricalRewire ComponentRebuild SurfaceRegrind SealReplacement"
    " ThreadRestoring BearingReseat",
    "InspectionActivity": "VisualSurface ThermalImage OilSample CrackDetection LeakDetection NoiseListening ClearanceMeasure"
    " FunctionalTest SafetyWalk",
    "ServicingActivity": "ScheduledLubrication FilterExchange CoolantRefill BeltTensioning SensorCalibration"
    " SystemFlushing SoftwareUpdate BatteryCharging",
    "LogisticActivity": "SpareOrdering PartCollection WasteRemoval VehicleRecovery ToolReturn CrewTransfer",
}
STATES = {
    "FailedState": "FatigueCracked HeatSeized ElectricallyShorted HydraulicallyBurst ImpactBent CorrosionPitted"
    " ThreadStripped SignalLost PowerTripped",
    "DegradedState": "SlowlyLeaking UnevenlyWorn IntermittentlyNoisy PartlyBlocked SlightlyMisaligned HeavilyContaminated"
    " InsufficientlyLubricated LooselyFastened VisiblyCorroded",
    "NormalState": "FullyOperational StandbyReady RecentlyServiced AwaitingRelease RunningIdle",
}
QUALITIES = {
    "MeasuredQuality": "OperatingHours TravelledDistance RemainingDepth AmbientTemperature HydraulicPressure BatteryVoltage"
    " OilViscosity VibrationVelocity FuelConsumption TorqueSetting",
    "NamedQuality": "SerialNumber ManufacturerName EquipmentPosition WorkOrder SafetyClass MaterialGrade ColourCode",
}
PLACES = {
    "PlantPlace": "CrushingStation ConveyorGallery ProcessingHall WorkshopBay StorageYard ControlRoom",
    "SidePlace": "LeftFront RightFront LeftRear RightRear UpperInner LowerOuter",
}
TOP = {
    "PhysicalObject": OBJECTS,
    "MaintenanceActivity": ACTIVITIES,
    "TechnicalState": STATES,
    "TechnicalQuality": QUALITIES,
    "InstallationPlace": PLACES,
}


TREE: list[dict[str, Any]] = [  # as an upload has it
    {
        "name": top,
        "children": [
            {"name": kind, "children": [{"name": f"{each}{kind}"} for each in words.split()]}
            for kind, words in kinds.items()
        ],
    }
    for top, kinds in TOP.items()
]


def rows(tree: list[dict[str, Any]] = TREE, above: int | None = None, before: int = 0) -> list[tuple[str, int | None]]:
    """The names in tree order, each with the place of the label above it."""
    found: list[tuple[str, int | None]] = []
    for label in tree:
        place = before + len(found)
        found += [(label["name"], above), *rows(label.get("children", []), place, place + 1)]
    return found
