from tests.bmc.fixtures import bmc, ipmi, prometheus, redfish

__all__ = ["bmc", "ipmi", "prometheus", "redfish"]
