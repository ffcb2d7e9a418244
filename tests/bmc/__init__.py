"""Test parts that speak the real protocols: a BMC, ipmi_sim, a Redfish server, Prometheus."""
