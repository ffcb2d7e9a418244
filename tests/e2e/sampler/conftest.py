from bmc.fixtures import bmc, ipmi, ipmi_sim, prometheus, redfish

__all__ = ["bmc", "ipmi", "ipmi_sim", "prometheus", "redfish"]
